package scheduler

import (
	"context"
	"maps"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// lengthEvery is the time for which the length of a queue counts before it is read again (P44, several
	// agents can do one step).
	lengthEvery = 10 * core.Second
	// roundTime is the assumed time in which an agent handles as many requests as it takes at a time. The
	// Scheduler uses roundTime to compare queue lengths with each other and with measured waits.
	roundTime = core.Second
)

// lengths holds the queue lengths of agents that a step of a known workflow may choose, as the time that each
// agent needs for its queue. It is safe for concurrent use.
type lengths struct {
	mu    sync.Mutex
	asked map[string]core.Time // time at which each agent's queue was last read; 0 means never
	waits map[string]core.Duration
}

func (l *lengths) all() map[string]core.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.waits)
}

// choosable adds all agents of the steps that have several agents to choose from.
func (l *lengths) choosable(def *core.Definition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range def.Steps {
		if len(def.Steps[i].Others) == 0 {
			continue
		}
		if l.asked == nil {
			l.asked, l.waits = map[string]core.Time{}, map[string]core.Duration{}
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
		if at == 0 || now.Sub(at) >= lengthEvery {
			agents, l.asked[agent] = append(agents, agent), now
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
