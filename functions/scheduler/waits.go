package scheduler

import (
	"maps"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// QueueTime is the shortest time that an agent's latest requests with an accepted reply waited in queues (P32,
// queue time is not a failure). If the clock leaps forward, every request that is in a queue seems to have
// waited for the leap, and none that is sent after it. A backlog continues: the next requests have waited, too.
// So from one second to the next, the wait that counts at most doubles.
type QueueTime struct {
	Least  core.Duration // since Began
	Began  core.Time     // at least a second after the second before
	Before core.Duration // wait that counted in the second before
}

// Then returns the wait after one more reply.
func (w QueueTime) Then(waited core.Duration, now core.Time) QueueTime {
	if since := now.Sub(w.Began); 0 <= since && since < core.Second {
		w.Least = min(w.Least, waited)
		return w
	}
	return QueueTime{Least: waited, Began: now, Before: w.counts()}
}

// counts returns the wait that counts, at least up to a second.
func (w QueueTime) counts() core.Duration { return min(w.Least, max(2*w.Before, core.Second)) }

// At returns the part of the wait that still counts at the given time. The part halves each minute, so that
// an old backlog does not delay the undo of later orders.
func (w QueueTime) At(now core.Time) core.Duration {
	return w.counts() >> (max(0, now.Sub(w.Began)) / core.Minute)
}

// Waits holds the queue waits that an instance of the Scheduler knows, by agent. The zero value holds no
// waits. Waits is safe for concurrent use.
type Waits struct {
	mu   sync.Mutex
	last map[string]QueueTime // by agent
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
func (w *Waits) All() map[string]QueueTime {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.last)
}

// Set replaces the known waits.
func (w *Waits) Set(all map[string]QueueTime) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = maps.Clone(all)
}

func (w *Waits) record(agent string, waited core.Duration, now core.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]QueueTime{}
	}
	w.last[agent] = w.last[agent].Then(waited, now)
}
