package scheduler

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
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
