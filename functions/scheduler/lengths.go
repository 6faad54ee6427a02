package scheduler

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// lengthEvery is the shortest time between two reads of a queue's length (P44, several agents can do
	// one step).
	lengthEvery = 10 * time.Second
	// roundTime is the assumed time in which an agent handles as many requests as it takes at a time. It
	// turns a queue length into a time, which the Scheduler can compare with measured waits.
	roundTime = core.Second
)

// lengths contains the time that each agent needs for the requests in its queue. It covers only agents
// of steps that several agents can do. It is safe for concurrent use.
type lengths struct {
	mu    sync.Mutex
	asked map[string]core.Time // time of the last read of each agent's queue; 0 means never
	waits map[string]core.Duration
}

func (l *lengths) all() map[string]core.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.waits)
}

// choosable adds all agents of the steps that several agents can do.
func (l *lengths) choosable(def *core.Definition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range def.Steps {
		if len(def.Steps[i].Others) == 0 {
			continue
		}
		if l.asked == nil {
			l.asked = map[string]core.Time{}
			l.waits = map[string]core.Duration{}
		}
		for _, agent := range def.Steps[i].AllAgents() {
			l.asked[agent] += 0
		}
	}
}

func (l *lengths) due(now core.Time) (agents []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// the loop may go in any order, because the agents are independent
	for agent, at := range l.asked {
		if !port.Recent(at.Std(), now.Std(), lengthEvery) {
			agents = append(agents, agent)
			l.asked[agent] = now
		}
	}
	return agents
}

func (l *lengths) set(agent string, wait core.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits[agent] = wait
}

// measure reads the queue lengths that are due. If a read fails, the last known length stays in use.
func (s *Scheduler) measure(ctx context.Context) {
	if s.cfg.Capacity == nil {
		return
	}
	for _, agent := range s.lengths.due(s.now()) {
		q, err := s.cfg.Queues.Queue(port.Requests(agent))
		var depth port.Depth
		if err == nil {
			depth, err = q.Depth(ctx)
		}
		if err != nil {
			s.log.Warn(
				"the length of an agent's queue is not known; its steps choose their agents without it",
				"agent", agent, "error", err)
			continue
		}
		s.lengths.set(agent, core.Duration((depth.Visible+depth.InFlight)/max(s.cfg.Capacity(agent),
			1))*roundTime)
	}
}
