package scheduler

import (
	"maps"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
)

// waits is what this instance has learnt of the agents' queues: how long the last request had
// waited (P32). A snapshot is never changed, so that the core can read it without a lock.
type waits struct {
	mu   sync.Mutex
	last map[string]core.Duration
}

// learn remembers a wait. agent is a name from a definition, so that replies cannot make it grow.
func (w *waits) learn(agent string, waited core.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if was, ok := w.last[agent]; ok && was == waited {
		return
	}
	next := make(map[string]core.Duration, len(w.last)+1)
	maps.Copy(next, w.last)
	next[agent] = waited
	w.last = next
}

func (w *waits) snapshot() map[string]core.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// learn remembers how long the requests had waited, before the decisions that use it (P32).
func (s *Scheduler) learn(j *engine.Job) {
	if j.Definition == nil {
		return
	}
	for _, d := range j.Messages {
		it := d.Decider.(*item)
		if r, ok := it.ev.(core.Reply); ok && !it.learnt && s.notAsked(j.Definition, it) == nil {
			if i := j.Definition.Index(r.Step); i >= 0 {
				s.waits.learn(j.Definition.Steps[i].Agent, it.waited)
				s.heard(&j.Definition.Steps[i], r)
			}
		}
		it.learnt = true
	}
}

// heard tells of a reply.
func (s *Scheduler) heard(d *core.StepDefinition, r core.Reply) {
	if s.cfg.Replied == nil {
		return
	}
	operation := d.Operation
	if r.Operation == core.UndoOp && d.Undo != nil {
		operation = d.Undo.Operation
	}
	s.cfg.Replied(d.Agent, operation, r)
}
