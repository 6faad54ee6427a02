package scheduler

import (
	"maps"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Wait is the time that an agent's latest request with an accepted reply waited in queues (P32, queue time is
// not a failure).
type Wait struct {
	Waited core.Duration
	Learnt core.Time
}

// At returns the part of the wait that still counts at the given time. The part halves each minute, so that
// an old backlog does not delay the undo of later orders.
func (w Wait) At(now core.Time) core.Duration {
	return w.Waited >> (max(0, now.Sub(w.Learnt)) / core.Minute)
}

// Waits holds the queue waits that an instance of the Scheduler knows, by agent. The zero value holds no
// waits. Waits is safe for concurrent use.
type Waits struct {
	mu   sync.Mutex
	last map[string]Wait // latest wait by agent
}

// At returns, by agent, the parts of the waits that still count at the given time.
func (w *Waits) At(now core.Time) map[string]core.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]core.Duration, len(w.last))
	// the loop may go in any order, because the agents are independent
	for agent, l := range w.last {
		all[agent] = l.At(now)
	}
	return all
}

// All returns a copy of the known waits.
func (w *Waits) All() map[string]Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.last)
}

// Set replaces the known waits.
func (w *Waits) Set(all map[string]Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = maps.Clone(all)
}

func (w *Waits) record(agent string, l Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]Wait{}
	}
	w.last[agent] = l
}
