package agenttest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
)

// t stands for the *testing.T of a test of your own, which an example does not get.
var t testing.TB = inExample{}

type inExample struct{ testing.TB }

func (inExample) Helper()                        {}
func (inExample) Context() context.Context       { return context.Background() }
func (inExample) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
func (inExample) Fatal(a ...any)                 { panic(fmt.Sprint(a...)) }
func (inExample) Logf(string, ...any)            {}

// A till remembers every key, and has no fence.
type till struct {
	mu   sync.Mutex
	paid map[string]bool
}

func (s *till) charge(ctx context.Context, c agent.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // Without a fence, no effect may begin after the end of the timeout.
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

// Find returns the best grade that the agent and its service earn.
func ExampleFind() {
	s := &till{paid: map[string]bool{}}
	operations := agent.Operations{"charge": {Run: s.charge}, "refund": {Run: s.refund}}
	report := agenttest.Find(t, operations,
		agenttest.Probe{Do: "charge", Undo: "refund", Effects: s.effects})
	fmt.Println(report.Grade)
	// Output: idempotent
}
