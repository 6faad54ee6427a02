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
	// in any order: each agent by itself
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

func (w *Waits) learn(agent string, l Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]Wait{}
	}
	w.last[agent] = l
}

// lesson is what an accepted reply teaches of its step's agent.
type lesson struct {
	step *core.StepDefinition // nil: nothing
	// that the step asked; never from the reply, so that replies cannot make Waits grow
	agent string
	// it is of the step's current attempt, and teaches how long requests wait now
	current bool
	wait    Wait
}

// teaches: a wait is no more than the time since the request was made, whatever the reply says.
func (it *item) teaches(j *engine.Job, before *core.Task) lesson {
	r, ok := it.ev.(core.Reply)
	if !ok || before == nil {
		return lesson{}
	}
	i := j.Definition.Index(r.Step)
	if i < 0 {
		return lesson{}
	}
	s, now := &before.Steps[i], j.At.Now
	d := &j.Definition.Steps[i]
	return lesson{d, d.AskedAgent(s), s.Attempt == r.Attempt,
		Wait{min(it.waited, max(0, now.Sub(s.ClaimedAt))), now}}
}

// learn keeps what a reply says of the queue, and reports it.
func (it *item) learn() {
	r, ok := it.ev.(core.Reply)
	l, s := &it.lesson, it.s
	if !ok || l.step == nil {
		return
	}
	if l.current {
		s.cfg.Waits.learn(l.agent, l.wait)
	}
	if s.cfg.Replied == nil {
		return
	}
	operation := l.step.Operation
	if r.Operation == core.UndoOp && l.step.Undo != nil {
		operation = l.step.Undo.Operation
	}
	s.cfg.Replied(l.agent, operation, r)
}
