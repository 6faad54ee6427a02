package agenttest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
)

// A till remembers keys for ever, and knows no fence.
type till struct {
	mu   sync.Mutex
	paid map[string]bool
}

func (s *till) charge(ctx context.Context, c agent.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // without a fence, nothing may begin when the time is over (P25)
		return nil, ctx.Err()
	}
	s.paid[c.Key] = true
	return nil, nil
}

func (s *till) refund(_ context.Context, c agent.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.paid, c.Key)
	return nil, nil
}

func (s *till) effects(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paid[key] {
		return 1
	}
	return 0
}

func ExampleFind() {
	_ = func(t *testing.T) { // in a test of your own
		s := &till{paid: map[string]bool{}}
		report := agenttest.Find(t, agent.Operations{"charge": {Run: s.charge}, "refund": {Run: s.refund}},
			agenttest.Probe{Do: "charge", Undo: "refund", Effects: s.effects})
		fmt.Println(report.Grade) // idempotent
		fmt.Println(report.WhyNot(agenttest.Fenced))
	}
}

// TestExample: the example says what is true.
func TestExample(t *testing.T) {
	s := &till{paid: map[string]bool{}}
	agenttest.Earns(t, agent.Operations{"charge": {Run: s.charge}, "refund": {Run: s.refund}},
		agenttest.Probe{Do: "charge", Undo: "refund", Effects: s.effects}, agenttest.Idempotent)
}
