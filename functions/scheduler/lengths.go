package scheduler

import (
	"context"
	"maps"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// lengthEvery is how long the length of a queue counts before the queue is asked again (P44).
	lengthEvery = 10 * core.Second
	// roundTime is what as many requests as an agent takes at a time are assumed to take: queues are compared
	// with each other, and with waits that are measured.
	roundTime = core.Second
)

// lengths are how long the queues are of the agents that some step of a workflow seen here may choose. Safe
// for concurrent use.
type lengths struct {
	mu    sync.Mutex
	asked map[string]core.Time // time of the last query of each agent's queue; 0 means never
	waits map[string]core.Duration
}

// all is what is known, by agent.
func (l *lengths) all() map[string]core.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.waits)
}

// choosable adds the agents of steps that have several.
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

// due are the agents whose queues are to be asked now; each is handed out once.
func (l *lengths) due(now core.Time) (agents []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// in any order: each agent by itself
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

// measure asks the queues of agents that steps may choose for their lengths. A queue that does not answer
// keeps its last length: the choice is worse then, and nothing else.
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
