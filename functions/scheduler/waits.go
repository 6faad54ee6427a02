package scheduler

import (
	"maps"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
)

// Wait is how long the last request of an agent had waited whose reply counted (P32).
type Wait struct {
	Waited core.Duration
	Learnt core.Time
}

// At is what counts at a time: half of it after each minute, so that a flood that is over does not delay the
// undo of later orders.
func (w Wait) At(now core.Time) core.Duration {
	return w.Waited >> (max(0, now.Sub(w.Learnt)) / core.Minute)
}

// Waits is what an instance has learnt of the agents' queues. The zero value knows of none. Safe for
// concurrent use.
type Waits struct {
	mu   sync.Mutex
	last map[string]Wait // by agent
}

// At is what counts at a time, by agent.
func (w *Waits) At(now core.Time) map[string]core.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]core.Duration, len(w.last))
	for agent, l := range w.last {
		all[agent] = l.At(now)
	}
	return all
}

// All is a copy of what is known.
func (w *Waits) All() map[string]Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.last)
}

// Set replaces what is known.
func (w *Waits) Set(all map[string]Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = maps.Clone(all)
}

func (w *Waits) learn(l lesson) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]Wait{}
	}
	w.last[l.agent] = l.Wait
}

// lesson is what a reply teaches. agent is a name from a definition, so that replies cannot make Waits grow;
// "": nothing.
type lesson struct {
	agent string
	Wait
}

// teaches: only a reply that was accepted, of the step's current attempt, says how long requests wait now. A
// copy, an older attempt or a claim of more than the time since the request was made says nothing of that.
func (it *item) teaches(j *engine.Job, before *core.Task) lesson {
	r, ok := it.ev.(core.Reply)
	if !ok || before == nil {
		return lesson{}
	}
	s := before.Step(r.Step)
	if s == nil || s.Attempt != r.Attempt {
		return lesson{}
	}
	return lesson{j.Definition.Steps[j.Definition.Index(r.Step)].Agent, Wait{min(it.waited, max(0, j.At.Now.Sub(s.ClaimedAt))), j.At.Now}}
}
