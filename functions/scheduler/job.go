package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dispatch"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

var (
	errTooManyRounds = errors.New("too many requests in a row were too large for their queue")
	errReload        = errors.New("load again and decide again")
	errPanic         = errors.New("the decision panicked")
	errLost          = errors.New("other writers were faster each time; the message comes again")
)

// item is one message, and what became of it.
type item struct {
	receipt string
	ev      core.Event           // nil for a restart
	submit  *message.SubmitOrder // with core.Submitted
	control *message.Control     // a command or a wake that came through the queue
	waited  core.Duration        // of a reply
	from    sender               // of a reply

	err      error // not deletable: it has to come again
	told     bool  // its sender was sent an answer
	known    bool  // a submission of an order that was there
	refusal  *message.Refusal
	verdict  *core.Verdict
	tooLarge bool // its output does not fit; it counts as failed for good (P28)
}

// job is all that one batch holds for one task: one commit (P13).
type job struct {
	id     string
	items  []*item
	parent *job // whose messages must not be deleted before this one has succeeded

	task    *core.Task // as loaded; nil where there is none
	def     *core.Definition
	order   []byte
	create  *port.Order
	next    *core.Task // as decided
	changed bool
	settles bool
	effects []core.Effect

	looked  bool // the store was asked for the task
	learnt  bool // what its replies say of their queues
	reread  bool // it was loaded past the cache
	existed bool // a create found something there
	ended   bool // the order is there, its task has expired (P14)
	failed  bool
	parcel  dispatch.Parcel
}

// fail gives all messages of the job back.
func (j *job) fail(err error) {
	for ; j != nil; j = j.parent {
		j.failed = true
		for _, it := range j.items {
			if it.err == nil {
				it.err = err
			}
		}
	}
}

// fold decides the job's messages one after the other, on the task as loaded. errReload: it was
// read stale. Any other error concerns the whole job.
func (s *Scheduler) fold(ctx context.Context, j *job) error {
	j.next, j.changed, j.settles, j.effects, j.create = j.task, false, false, nil, nil
	j.def, j.order = nil, nil // what this writer submitted may not be what is stored
	if j.task != nil {
		def, err := s.cfg.State.Definition(ctx, j.task.Definition)
		if err != nil {
			return err
		}
		j.def = def
	}
	s.learn(j)
	for _, it := range j.items {
		it.err, it.known, it.told, it.refusal, it.verdict = nil, false, false, nil, nil
		d, err := s.decide(ctx, j, it)
		refusal := refusalOf(err)
		switch {
		case refusal != nil && it.submit != nil && !j.looked: // P14: an order that is there stays accepted
			j.existed = true
			return errReload
		case refusal != nil:
			s.refuse(j, it, refusal)
		case errors.Is(err, core.ErrStale) && !j.reread:
			return errReload
		case errors.Is(err, core.ErrStale): // P8: it stays
			s.ahead(j, it)
			it.err = err
		case errors.Is(err, errPanic):
			it.err = err
		case err != nil:
			return err
		default:
			s.accept(j, it, d)
		}
	}
	if j.next != nil { // P11: the end as it is now, by all that this handling will send
		j.settles = core.ToldBy(j.def, j.next, j.effects)
	}
	return nil
}

// refusalOf is the refusal that its sender has to be told, nil where the error is none.
func refusalOf(err error) *message.Refusal {
	var decided *core.Refusal
	var unfit *message.Refusal
	switch {
	case errors.As(err, &decided):
		return &message.Refusal{Code: decided.Code, Field: decided.Field, Text: decided.Text}
	case errors.As(err, &unfit):
		return unfit
	}
	return nil
}

// ahead makes a message known that knows more than the document, also when it was read again: a
// forged one, or one of a store that was set back, comes again until it is a dead letter (P8).
func (s *Scheduler) ahead(j *job, it *item) {
	about := []any{"task", j.id}
	switch e := it.ev.(type) {
	case core.Reply:
		about = append(about, "step", e.Step, "run", e.Run, "attempt", e.Attempt)
	case core.Wake:
		about = append(about, "step", e.Step, "run", e.Run, "attempt", e.Attempt)
	case core.Cancel:
		about = append(about, "run", e.Run)
	}
	s.log.Warn("a message is ahead of the stored task and is given back; if it comes for ever it was forged, or the store was set back", about...)
	s.count("given back", "ahead of the document")
}

// learn remembers how long the requests had waited, before the decisions that use it (P32).
func (s *Scheduler) learn(j *job) {
	if j.def == nil || j.learnt {
		return
	}
	j.learnt = true
	for _, it := range j.items {
		if r, ok := it.ev.(core.Reply); ok && s.notAsked(j.def, it) == nil {
			if i := j.def.Index(r.Step); i >= 0 {
				s.waits.learn(j.def.Steps[i].Agent, it.waited)
				s.heard(&j.def.Steps[i], r)
			}
		}
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

// decide lets the core decide one message. A panic harms this message only.
func (s *Scheduler) decide(ctx context.Context, j *job, it *item) (d core.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("decision panicked; the message is given back", "task", j.id, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("task %q: %w", j.id, errPanic)
		}
	}()
	at := core.At{Now: s.now(), By: s.cfg.Name, Waits: s.waits.snapshot()}
	if j.next == nil && it.submit != nil {
		return s.first(ctx, j, it, at)
	}
	switch {
	case j.next == nil && it.ev == nil: // the index was stale
		return core.Decision{Ignored: "no such task"}, nil
	case j.next == nil && j.ended && isCancel(it.ev):
		return d, expired(j.id)
	}
	if err := s.notAsked(j.def, it); err != nil {
		return d, err
	}
	d, err = s.ask(j, it, at)
	if !errors.Is(err, core.ErrOrderNeeded) || j.order != nil {
		return d, err
	}
	order, err := s.cfg.State.LoadOrder(ctx, j.id)
	if err != nil {
		return d, err
	}
	j.order = order
	return s.ask(j, it, at)
}

func (s *Scheduler) ask(j *job, it *item, at core.At) (core.Decision, error) {
	if it.ev == nil {
		return core.Restart(j.def, j.order, j.next, at.Now)
	}
	return core.Decide(j.def, j.order, j.next, s.event(j, it), at)
}

// event is the item's event; a reply whose output does not fit counts as failed for good. Its
// redelivery is recognised by the failure that the step holds, so that it causes the same (P12, P28).
func (s *Scheduler) event(j *job, it *item) core.Event {
	r, ok := it.ev.(core.Reply)
	if !ok || r.Outcome != core.OutcomeDone || j.next == nil {
		return it.ev
	}
	if st := j.next.Step(r.Step); st != nil {
		if st.Error != nil && st.Error.Code == codeOutputTooLarge && st.Error.Attempt == r.Attempt && st.State != core.Processed {
			it.tooLarge = true
		}
	}
	if !it.tooLarge {
		return it.ev
	}
	n := len(r.Output)
	r.Outcome, r.Output, r.Code = core.OutcomeFailed, nil, codeOutputTooLarge
	r.Message = fmt.Sprintf("the agent's output of %d bytes does not fit into the task's document of at most %d; let it store the data elsewhere and answer a reference", n, port.MaxDocument)
	return r
}

const codeOutputTooLarge = "output-too-large"

// accept takes over what was decided.
func (s *Scheduler) accept(j *job, it *item, d core.Decision) {
	if it.submit != nil {
		it.known = j.next != nil
		s.answer(j, it, d)
	}
	it.verdict = d.Verdict
	if v := d.Verdict; v != nil && !v.Accepted && it.control != nil {
		s.refuseCommand(j, it, d.Task, v)
	}
	if d.Ignored != "" {
		s.count("ignored", d.Ignored)
		s.log.Debug("event changed nothing", "task", j.id, "why", d.Ignored)
	}
	if d.Task != nil && j.next == nil && j.create == nil { // a Cancel before its order (P17)
		j.create = &port.Order{ID: j.id, Created: s.cfg.Clock.Now()}
	}
	j.next = d.Task
	j.changed = j.changed || d.Changed
	j.effects = append(j.effects, d.Effects...)
}

// change is the job's commit.
func (j *job) change() state.Change {
	t := *j.next
	t.Version = 1
	var order *port.Order
	if j.task != nil {
		t.Version = j.task.Version + 1
	} else {
		order = j.create
	}
	j.next = &t
	return state.Change{Task: &t, Order: order}
}

// largest finds the message with the largest output that is not cut yet; nil where there is none.
func (j *job) largest() *item {
	var found *item
	size := 0
	for _, it := range j.items {
		if r, ok := it.ev.(core.Reply); ok && !it.tooLarge && r.Outcome == core.OutcomeDone && len(r.Output) > size {
			found, size = it, len(r.Output)
		}
	}
	return found
}

func isCancel(ev core.Event) bool {
	_, ok := ev.(core.Cancel)
	return ok
}
