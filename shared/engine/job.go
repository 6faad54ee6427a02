package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Decider is one thing that a task has to be told. It embeds Message.
type Decider interface {
	// Decide decides it with Job.Decide and Job.Accept. It is called again when the task was loaded again,
	// and then forgets what it kept of the call before. An error concerns the whole job, but for a panic
	// and for core.ErrStale, which concern this message.
	Decide(ctx context.Context, j *Job) error
	message() *Message
}

// Message is what became of one thing that a task has to be told.
type Message struct {
	Err error // it has to come again
	New bool  // it is a submission: only the order's create can tell whether it is there

	event core.Event // as decided last
	cut   bool       // its output does not fit; it counts as failed for good (P28)
}

func (m *Message) message() *Message { return m }

// Batch holds one job for each task (P13), in the order of their first messages.
type Batch struct {
	Jobs []*Job
	byID map[string]*Job
}

// Add puts a message into the job of its task.
func (b *Batch) Add(id string, d Decider) *Job {
	j := b.byID[id]
	if j == nil {
		if b.byID == nil {
			b.byID = map[string]*Job{}
		}
		j = &Job{ID: id, unseen: true}
		b.byID[id] = j
		b.Jobs = append(b.Jobs, j)
	}
	j.Messages = append(j.Messages, d)
	j.unseen = j.unseen && d.message().New
	return j
}

// Job is all that one run decides for one task: one commit (P13).
type Job struct {
	ID       string
	Messages []Decider
	Now      core.Time // when the present message is decided
	decided
	Err    error // none of its messages may be deleted; nil where some of them may
	Stored bool  // something was committed

	engine  *Engine
	parent  *Job       // whose messages must not be deleted before this one has succeeded
	loaded  *core.Task // nil where there is none
	current *Message
	parcel  parcel

	unseen   bool // the store was not asked for the task
	exists   bool // something is known to be there
	reread   bool // it was loaded past the cache
	expired  bool // the order is there, its task has expired (P14)
	tooLarge bool // its first document does not fit

	lost error // why it was not stored at its last try
}

// decided is what was decided since the task was loaded.
type decided struct {
	Task       *core.Task // nil where there is none
	Definition *core.Definition
	order      []byte
	create     *port.Order
	changed    bool
	settles    bool
	effects    []core.Effect
}

// fail gives all messages of the job back.
func (j *Job) fail(err error) {
	for ; j != nil; j = j.parent {
		if j.Err == nil {
			j.Err = err
		}
		for _, d := range j.Messages {
			if m := d.message(); m.Err == nil {
				m.Err = err
			}
		}
	}
}

// decide decides the job's messages one after the other, on the task as loaded. ErrReload: it was
// read stale. Any other error concerns the whole job.
func (e *Engine) decide(ctx context.Context, j *Job) error {
	j.engine, j.decided = e, decided{Task: j.loaded}
	if j.Task != nil {
		var err error
		if j.Definition, err = e.State.Definition(ctx, j.Task.Definition); err != nil {
			return err
		}
	}
	for _, d := range j.Messages {
		m, before := d.message(), j.decided
		j.current, j.Now, m.Err = m, core.TimeOf(e.Clock.Now()), nil
		switch err := j.guarded(ctx, d); {
		case errors.Is(err, core.ErrStale) && !j.reread:
			return ErrReload
		case errors.Is(err, core.ErrStale): // P8: it stays
			j.ahead(m)
			j.decided, m.Err = before, err
		case errors.Is(err, errPanic):
			j.decided, m.Err = before, err
		case err != nil:
			return err
		}
	}
	if j.Task != nil { // P11: the end as it is now, by all that this run will send
		j.settles = core.ToldBy(j.Definition, j.Task, j.effects)
	}
	return nil
}

// guarded: a panic concerns one message only.
func (j *Job) guarded(ctx context.Context, d Decider) (err error) {
	defer func() {
		if p := recover(); p != nil {
			j.engine.Logger.Error("decision panicked; the message is given back", "task", j.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("task %q: %w", j.ID, errPanic)
		}
	}()
	return d.Decide(ctx, j)
}

// ahead makes a message known that knows more than the document, also when it was read again: a
// forged one, or one of a store that was set back, comes again until it is a dead letter (P8).
func (j *Job) ahead(m *Message) {
	about := []any{"task", j.ID}
	switch ev := m.event.(type) {
	case core.Reply:
		about = append(about, "step", ev.Step, "run", ev.Run, "attempt", ev.Attempt)
	case core.Wake:
		about = append(about, "step", ev.Step, "run", ev.Run, "attempt", ev.Attempt)
	case core.Cancel:
		about = append(about, "run", ev.Run)
	}
	j.engine.Logger.Warn("a message is ahead of the stored task and is given back; if it comes for ever it was forged, or the store was set back", about...)
	j.engine.count("given back", "ahead of the document")
}

// Unseen: the store was not asked yet whether the task is there.
func (j *Job) Unseen() bool { return j.unseen }

// Expired: the order is there, and its task has expired (P14).
func (j *Job) Expired() bool { return j.expired }

// Start decides a submission of an order that is not there.
func (j *Job) Start(def *core.Definition, order port.Order, ev core.Event) (core.Decision, error) {
	if j.tooLarge {
		return core.Decision{}, &core.Refusal{Code: message.CodeTooLarge, Field: "order",
			Text: "the order's task does not fit into the store; store large data elsewhere and send a reference"}
	}
	d, err := core.Decide(def, order.Body, nil, ev, j.at())
	if err == nil {
		order.Created = j.Now.Std()
		j.Definition, j.order, j.create = def, order.Body, &order
	}
	return d, err
}

// Decide lets the core decide an event on the task as it stands now. The order is loaded where the core
// needs it only.
func (j *Job) Decide(ctx context.Context, ev core.Event) (core.Decision, error) {
	ev = j.fitting(ev)
	return j.ask(ctx, func() (core.Decision, error) { return core.Decide(j.Definition, j.order, j.Task, ev, j.at()) })
}

// Restart lets the core emit again all that is under way (P27).
func (j *Job) Restart(ctx context.Context) (core.Decision, error) {
	if j.Task == nil { // the index was stale
		return core.Decision{Ignored: "no such task"}, nil
	}
	return j.ask(ctx, func() (core.Decision, error) { return core.Restart(j.Definition, j.order, j.Task, j.Now) })
}

func (j *Job) ask(ctx context.Context, decide func() (core.Decision, error)) (core.Decision, error) {
	d, err := decide()
	if !errors.Is(err, core.ErrOrderNeeded) || j.order != nil {
		return d, err
	}
	if j.order, err = j.engine.State.LoadOrder(ctx, j.ID); err != nil {
		return d, err
	}
	return decide()
}

func (j *Job) at() core.At {
	at := core.At{Now: j.Now, By: j.engine.By}
	if j.engine.Waits != nil {
		at.Waits = j.engine.Waits()
	}
	return at
}

// Accept makes a decision part of the job's commit, and of what is sent after it.
func (j *Job) Accept(d core.Decision) {
	if d.Ignored != "" {
		j.engine.count("ignored", d.Ignored)
		j.engine.Logger.Debug("event changed nothing", "task", j.ID, "why", d.Ignored)
	}
	if d.Task != nil && j.Task == nil && j.create == nil { // a Cancel before its order (P17)
		j.create = &port.Order{ID: j.ID, Created: j.Now.Std()}
	}
	j.Task = d.Task
	j.changed = j.changed || d.Changed
	j.effects = append(j.effects, d.Effects...)
}

// Send adds what is to be sent after the commit.
func (j *Job) Send(effects ...core.Effect) { j.effects = append(j.effects, effects...) }

// Push moves the lazy due time of a task in which nothing is overdue; it reports whether there is
// something to store (P10).
func (j *Job) Push() bool {
	pushed, moved := core.Push(j.Task)
	if moved {
		j.Task, j.changed = pushed, true
	}
	return moved
}

// change is the job's commit.
func (j *Job) change() state.Change {
	t := *j.Task
	t.Version = 1
	var order *port.Order
	if j.loaded != nil {
		t.Version = j.loaded.Version + 1
	} else {
		order = j.create
	}
	j.Task = &t
	return state.Change{Task: &t, Order: order}
}

// fitting is the event; a reply whose output does not fit counts as failed for good. Its redelivery is
// recognised by the failure that the step holds, so that it causes the same (P12, P28).
func (j *Job) fitting(ev core.Event) core.Event {
	m := j.current
	m.event = ev
	r, ok := ev.(core.Reply)
	if !ok || r.Outcome != core.OutcomeDone || j.Task == nil {
		return ev
	}
	if st := j.Task.Step(r.Step); st != nil {
		if st.Error != nil && st.Error.Code == codeOutputTooLarge && st.Error.Attempt == r.Attempt && st.State != core.Processed {
			m.cut = true
		}
	}
	if !m.cut {
		return ev
	}
	n := len(r.Output)
	r.Outcome, r.Output, r.Code = core.OutcomeFailed, nil, codeOutputTooLarge
	r.Message = fmt.Sprintf("the agent's output of %d bytes does not fit into the task's document of at most %d; let it store the data elsewhere and answer a reference", n, port.MaxDocument)
	return r
}

const codeOutputTooLarge = "output-too-large"

// largest finds the message with the largest output that is not cut yet; nil where there is none.
func (j *Job) largest() *Message {
	var found *Message
	size := 0
	for _, d := range j.Messages {
		m := d.message()
		if r, ok := m.event.(core.Reply); ok && !m.cut && r.Outcome == core.OutcomeDone && len(r.Output) > size {
			found, size = m, len(r.Output)
		}
	}
	return found
}

// unsent is the failure of a step whose request no queue takes (P28).
type unsent struct {
	Message
	reply core.Reply
}

func (u *unsent) Decide(ctx context.Context, j *Job) error {
	d, err := j.Decide(ctx, u.reply)
	if err == nil {
		j.Accept(d)
	}
	return err
}

// unsendable is the job that follows from requests which no queue takes (P28).
func (j *Job) unsendable(requests []core.SendRequest) *Job {
	next := &Job{ID: j.ID, parent: j}
	for _, r := range requests {
		next.Messages = append(next.Messages, &unsent{reply: core.Reply{
			Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeFailed, Code: "input-too-large",
			Message: fmt.Sprintf("the request to agent %q is larger than a message of %d bytes; pass a reference instead of the data", r.Agent, port.MaxMessage),
		}})
	}
	return next
}
