// Package engine is the loop that Scheduler and Supervisor share: load the task, let the core decide, commit
// on the version, send the effects, settle.
//
// Authority: none of its own. A [Decider] of the caller says which event is decided; package core says what
// it does. Of instances that decide about one task at once, one commits (P8); the others load it again and
// decide again, up to Tries.
//
// States: a [Job] is one task with the messages of a batch that concern it. They make one commit (P13). A
// message is done when the effects of that commit were sent, and those of the commits that followed from it.
//
// Failures: before the commit nothing has changed. After it, the redelivery of the message sends the same
// effects again (P12); if the message never comes again, the due time that every commit leaves behind does
// (P9). An answer of the store that leaves the commit in doubt is resolved by loading the task. A document or
// a message that is too large becomes a failure of the step or a refusal (P28), never a message that returns
// for ever. A panic concerns one message.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

var (
	// ErrReload is answered by a Decider that has to see the task as the store has it now.
	ErrReload = errors.New("load again and decide again")
	// ErrLost: other writers were faster each time. It wraps the answer to the last commit.
	ErrLost = errors.New("not stored: other writers were faster each time")

	errPanic         = errors.New("the decision panicked")
	errTooManyRounds = errors.New("too many requests in a row were too large for their queue")
)

// Parts are what Scheduler and Supervisor stand on. State, Queues, Alerts and Clock are required.
type Parts struct {
	State  *state.Store
	Queues port.Queues
	Alerts port.Alerts
	Leases port.Leases // of the Supervisor's sweeps
	Clock  port.Clock
	Name   string // of this instance, for LockedBy and leases
	// WakeSlack is added to the delay of a Wake, so that it does not come before its time by
	// another clock: 1 s between machines, some milliseconds inside a process.
	WakeSlack time.Duration
	Logger    *slog.Logger
	Count     func(what, why string) // counts what people should know of; may be nil
	Tracer    port.Tracer            // nil: no spans are recorded
	// Tokens answers the keys of answers' tokens (P39); nil: there are none. With an error the messages are
	// returned to their queue. With fresh they are read again, since an order has a key that is not among
	// them.
	Tokens func(ctx context.Context, fresh bool) (core.Tokens, error)
}

// Config is what an Engine needs; Logger and Tries too.
type Config struct {
	Parts
	Tries int    // how often a task is decided in one run
	Span  string // the name of its spans: what runs it
	// Waits is how long requests wait at a time, by agent (P32), for the decisions that claim; may be nil.
	Waits func(now core.Time) map[string]core.Duration
	// Lengths is how long the queues of agents are that a step may choose, given as waits (P44); may be nil.
	Lengths func() map[string]core.Duration
	// FairQueues puts the order's tenant on each request (rule 4). Replies and control messages have
	// none: the Scheduler does not let them wait.
	FairQueues bool
}

// Engine is safe for concurrent use. It keeps nothing between two runs.
type Engine struct{ Config }

// Run takes the jobs to their ends. A message whose Err is nil afterwards is stored and sent in whole, and
// may be deleted (P13). A request that no queue takes makes its step fail for good, which is a decision of
// its own (P28).
func (e *Engine) Run(ctx context.Context, jobs []*Job) {
	if e.Tracer != nil {
		defer e.traced(ctx, jobs)()
	}
	for rounds := 0; len(jobs) > 0; rounds++ {
		e.store(ctx, jobs)
		further := e.deliver(ctx, jobs)
		e.settle(ctx, jobs)
		if jobs = further; rounds == maxFurther {
			for _, j := range further {
				j.fail(errTooManyRounds)
			}
			return
		}
	}
}

// traced begins a span for each job; they share their commits, so that none of them is the parent of what the
// stores record.
func (e *Engine) traced(ctx context.Context, jobs []*Job) (end func()) {
	spans := make([]port.Handling, len(jobs))
	for i := range jobs {
		_, spans[i] = e.Tracer.Begin(ctx, e.Span)
	}
	return func() {
		for i, j := range jobs {
			s := port.Span{OrderID: j.ID, Trace: core.Trace(j.ID, 0)}
			if j.Task != nil {
				s.Run, s.State, s.Trace = j.Task.Run, string(j.Task.ProcessState),
					core.Trace(j.ID, j.Task.Run)
			}
			var errs []error
			for _, m := range j.Messages {
				errs = append(errs, m.Err)
			}
			spans[i].End(s, errors.Join(errs...))
		}
	}
}

// maxFurther bounds how many requests in a row are too large for their queue in one run.
const maxFurther = 50

// store loads, decides and commits the jobs, again and again for those that another writer was
// faster with, or whose answer is in doubt: the cause in the document shows whether it is its own (P12).
func (e *Engine) store(ctx context.Context, jobs []*Job) {
	for try := 0; len(jobs) > 0; try++ {
		if try == e.Tries {
			for _, j := range jobs {
				j.fail(fmt.Errorf("%w: %w", ErrLost, j.lost))
			}
			return
		}
		jobs = e.attempt(ctx, e.load(ctx, jobs))
	}
}

// load fills in the jobs' tasks with one call; those that cannot be loaded fail. Of an order that comes
// for the first time nothing is read: the create itself finds out whether it is there (P14), which spares
// most submissions a load.
func (e *Engine) load(ctx context.Context, jobs []*Job) []*Job {
	var ids []string
	var loading []*Job
	good := jobs[:0:0]
	for _, j := range jobs {
		if j.Unseen && e.State.Cached(j.ID) == nil {
			good = append(good, j)
			continue
		}
		ids, loading = append(ids, j.ID), append(loading, j)
	}
	if len(ids) == 0 {
		return good
	}
	loaded := e.State.Load(ctx, ids)
	for i, j := range loading {
		j.loaded, j.Unseen = loaded[i].Task, false
		err := loaded[i].Err
		if err == nil && j.loaded == nil && j.exists {
			j.Expired, err = e.State.Port().Ended(ctx, j.ID)
		}
		if err != nil {
			j.fail(err)
			continue
		}
		good = append(good, j)
	}
	return good
}

// attempt decides and commits; it answers the jobs that have to be loaded again.
func (e *Engine) attempt(ctx context.Context, jobs []*Job) (again []*Job) {
	var changes []state.Change
	var changing []*Job
	known := e.known()
	for _, j := range jobs {
		switch err := e.decide(ctx, j, known); {
		case errors.Is(err, ErrReload):
			j.reread, j.exists, j.Unseen, j.lost = true, j.exists || j.Unseen, false, err
			e.State.Forget(j.ID)
			again = append(again, j)
		case err != nil:
			j.fail(err)
		case j.changed:
			j.Task.Version = 1 // a decision that changes a task returns a copy
			if j.loaded != nil {
				j.Task.Version = j.loaded.Version + 1
			}
			changes, changing = append(changes, state.Change{Task: j.Task, Before: j.loaded, Order: j.order}),
				append(changing, j)
		}
	}
	if len(changes) == 0 {
		return again
	}
	for i, err := range e.State.Commit(ctx, changes) {
		j := changing[i]
		if j.lost = err; err == nil {
			j.Stored = true
		} else if e.uncommitted(ctx, j, err) {
			again = append(again, j)
		}
	}
	return again
}

// uncommitted deals with a commit that failed; it reports whether to load and decide again.
func (e *Engine) uncommitted(ctx context.Context, j *Job, err error) (again bool) {
	switch {
	case errors.Is(err, port.ErrExists):
		j.exists, j.Unseen = true, false
		return true
	case errors.Is(err, port.ErrTooLarge):
		return e.refuseLarge(j, err)
	case errors.Is(err, port.ErrUnavailable):
		j.fail(err)
		return false
	case errors.Is(err, port.ErrConflict):
		return true
	}
	j.doubt = true
	if ctx.Err() != nil {
		j.fail(err)
		return false
	}
	e.Logger.Warn("perhaps stored; looking", "order", j.ID, "error", err)
	return true
}

// known returns what is the same for all decisions of an attempt.
func (e *Engine) known() core.At {
	at := core.At{By: e.Name, SizeLimit: e.State.Room()}
	if e.Waits != nil {
		at.Waits = e.Waits(core.TimeOf(e.Clock.Now()))
	}
	if e.Lengths != nil {
		at.Queues = e.Lengths()
	}
	return at
}

// decide decides the job's messages one after the other, on the task as loaded. ErrReload: it was
// read stale. Any other error concerns the whole job.
func (e *Engine) decide(ctx context.Context, j *Job, known core.At) error {
	j.engine, j.decided = e, decided{Task: j.loaded}
	if j.Task != nil {
		j.order = j.Task.Order
		var err error
		if j.Definition, err = e.State.Definition(ctx, j.Task.Definition); err != nil {
			return err
		}
	}
	if e.Tokens != nil {
		var err error
		if known.Tokens, err = e.Tokens(ctx, false); err != nil {
			return err
		}
	}
	for _, m := range j.Messages {
		before := j.decided
		j.current, j.At, m.Err = m.Message, known, nil
		j.At.Now = core.TimeOf(e.Clock.Now())
		switch answer, err := j.guarded(ctx, m.Decider); {
		case errors.Is(err, core.ErrStale) && !j.reread:
			return ErrReload
		case errors.Is(err, core.ErrStale): // P8: it stays
			j.ahead(m.event)
			j.decided, m.Err = before, err
		case errors.Is(err, errPanic):
			j.decided, m.Err = before, err
		case err != nil:
			return err
		default:
			j.effects = slices.Insert(j.effects, len(before.effects), answer...)
		}
	}
	if j.Task != nil { // P11: the end as it is now, by all that this run will send
		j.settles = core.Settles(j.Definition, j.Task, j.effects)
	}
	return nil
}

// guarded: a panic concerns one message only.
func (j *Job) guarded(ctx context.Context, d Decider) (answer []core.Effect, err error) {
	defer func() {
		if p := recover(); p != nil {
			j.engine.Logger.Error("decision panicked; the message is returned to the queue", "order", j.ID,
				"panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("task %q: %w", j.ID, errPanic)
		}
	}()
	return d.Decide(ctx, j)
}

// Start decides a submission of an order that is not there.
func (j *Job) Start(def *core.Definition, order []byte, ev core.Event) (core.Decision, error) {
	if j.tooLarge {
		return core.Decision{}, &core.Refusal{Code: message.CodeTooLarge, Field: "order",
			Text: "the order's task does not fit into the store; store large data elsewhere and send a " +
				"reference"}
	}
	d, err := core.Decide(def, order, nil, ev, j.At)
	if err == nil {
		j.Definition, j.order = def, order
		j.accept(d)
	}
	return d, err
}

// Decide lets the core decide an event on the task as it stands now. The order is loaded where the core
// needs it only.
func (j *Job) Decide(ctx context.Context, ev core.Event) (core.Decision, error) {
	j.current.event = ev
	d, err := j.decide(ctx, ev)
	if err == nil && d.Ignored != "" && j.emitsAgain() {
		err = j.followedBefore(ctx)
	}
	return d, err
}

func (j *Job) decide(ctx context.Context, ev core.Event) (core.Decision, error) {
	_, asked := ev.(core.Settle)
	if _, byParent := ev.(core.AskChild); byParent && j.Task != nil { // P41: its end is sent each time
		asked = j.Task.Terminal() || j.Task.ProcessState == core.Error
	}
	if _, erases := ev.(core.Erase); erases { // P52: the removal of the content is repeated each time
		asked = true
	}
	return j.ask(ctx, asked, func() (core.Decision, error) {
		return core.Decide(j.Definition, j.order, j.Task,
			ev, j.At)
	})
}

// Restart lets the core emit again all that is under way (P27).
func (j *Job) Restart(ctx context.Context) (core.Decision, error) {
	if j.Task == nil { // the index was stale
		return core.Decision{}, nil
	}
	return j.ask(ctx, true, func() (core.Decision, error) {
		return core.Restart(j.Definition, j.order, j.Task,
			j.At)
	})
}

// ask decides, and accepts; asked is what it was asked for to emit again.
func (j *Job) ask(ctx context.Context, asked bool,
	decide func() (core.Decision, error)) (core.Decision, error) {
	d, err := decide()
	if errors.Is(err, core.ErrOrderNeeded) && len(j.order) == 0 && j.Task != nil {
		if j.order, err = j.engine.State.Order(ctx, j.Task); err == nil {
			d, err = decide()
		}
	}
	if err == nil {
		if d.Ignored != "" && !asked && !j.emitsAgain() {
			d.Effects = nil
		}
		j.accept(d)
	}
	return d, err
}

// emitsAgain is the duty of a message that may have been handled before, and of a run whose own write was
// lost or repeated beneath it. A conflict with another writer is neither: that one sends (P12a).
func (j *Job) emitsAgain() bool { return j.current.Again || j.doubt }

// accept makes a decision part of the job's commit, and its effects part of what is sent after it.
func (j *Job) accept(d core.Decision) {
	if d.Ignored != "" {
		j.engine.count("ignored", d.Ignored)
		j.engine.Logger.Debug("event changed nothing", "order", j.ID, "why", d.Ignored)
	}
	j.Task = d.Task
	j.changed = j.changed || d.Changed
	j.effects = append(j.effects, d.Effects...)
}

// Push moves the lazy due time of a task in which nothing is overdue; it reports whether there is
// something to store (P10).
func (j *Job) Push() bool {
	pushed, moved := core.Push(j.Task)
	if moved {
		j.Task, j.changed = pushed, true
	}
	return moved
}

// ahead makes a message known that knows more than the document, also when it was read again: a
// forged one, or one of a store that was set back, comes again until it is a dead letter (P8).
func (j *Job) ahead(ev core.Event) {
	j.engine.Logger.Warn(
		"a message is ahead of the stored task and is returned to the queue; if it comes for ever it was "+
			"forged, or the store was set back", About(j.ID, ev)...)
	j.engine.count("returned", "ahead of the document")
}

// About is what a line of the log says of an event: its task, and the run, step and attempt where it has
// them.
func About(task string, ev core.Event) []any {
	about := []any{"order", task}
	switch ev := ev.(type) {
	case core.Reply:
		return append(about, "step", ev.Step, "run", ev.Run, "attempt", ev.Attempt)
	case core.Progress:
		return append(about, "step", ev.Step, "run", ev.Run, "attempt", ev.Attempt)
	case core.Wake:
		return append(about, "step", ev.Step, "run", ev.Run, "attempt", ev.Attempt)
	case core.ChildEnded:
		return append(about, "step", ev.Parent.Step, "run", ev.Parent.Run, "attempt", ev.Parent.Attempt)
	case core.Cancel:
		return append(about, "run", ev.Run)
	case core.Answered:
		return append(about, "step", ev.Step, "run", ev.Run)
	case core.Resolve:
		return append(about, "step", ev.Step)
	}
	return about
}

func (e *Engine) count(what, why string) {
	if e.Count != nil {
		e.Count(what, why)
	}
}
