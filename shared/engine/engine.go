// Package engine is the loop that Scheduler and Supervisor share. Load reads the tasks. Decide lets package
// protocol decide the events, and commits each task if its stored version is still the loaded version.
// Deliver sends the effects, and settles the ends that it has reported.
//
// Authority: the package decides about no event. The messages of the caller contain the events, and package
// protocol decides what each event does. If several instances decide about one task at the same time, only
// one instance commits (P8, every commit is conditional). The others load the task and decide again, up to
// Tries times.
//
// States: A [Job] holds one task, and those messages of a batch that are about the task. All messages of a
// job make one commit (P13, delete after sending). A message is done after all effects of the commit were
// sent. If Deliver makes another commit because of an effect, the effects of that commit must be sent too.
// Between Decide and Deliver, the caller adds the messages that report the outcomes.
//
// Failures: Before the commit, nothing has changed. After the commit, a redelivery of the message sends the
// same effects again (P12, effects are emitted again). If no redelivery comes, a sweep finds the task at its
// due time (P9, tasks not at rest are due). If it is unknown whether the store has the commit, the engine
// loads the task. A document or a message that is too large becomes a failure of the step or a refusal (P28,
// what is too large fails once). A panic is an error of one message.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

var (
	// ErrLost means that every try failed, usually because another writer was faster.
	ErrLost = errors.New("not stored: other writers were faster each time")

	errReload        = errors.New("load again and decide again")
	errPanic         = errors.New("the decision panicked")
	errTooManyRounds = errors.New("too many requests in a row were too large for their queue")
)

// Parts holds the dependencies of Scheduler and Supervisor. State, Queues, Alerts and Clock are required.
type Parts struct {
	State  *state.Store
	Queues port.Queues
	Alerts port.Alerts
	Leases port.Leases // leases for the Supervisor's sweeps
	Clock  port.Clock
	Name   string // name of this instance, for LockedBy and for leases
	// WakeSlack is added to the delay of a Wake, so that the Wake is not early by the clock of another
	// instance. It is 1 s between machines, and some milliseconds inside a process.
	WakeSlack time.Duration
	Logger    *slog.Logger
	Count     func(what, why string) // counts events for the log and the metrics; may be nil
	Tracer    port.Tracer            // recorder of spans; nil records none
	// Tokens returns the keys for the tokens of answers (P39, a token is an answer's permission). It is nil
	// if there are no keys. If it returns an error, the messages return to their queue. If fresh is true, it
	// loads the keys again, because an order uses a key that is not loaded.
	Tokens func(ctx context.Context, fresh bool) (core.Tokens, error)
	// FairQueues means that each request has its order's tenant as the message group (rule 4 in
	// docs/reference/aws-rules.md). Other messages need no group, because the Scheduler does not let them
	// wait.
	FairQueues bool
	// Senders lists for each agent the IDs of the roles that may send its replies (P3, a reply names request
	// and sender). If an agent has no entry, only the agent's name is checked.
	Senders map[string][]string
}

// Config configures an Engine. Logger and Tries are required, besides the required fields of Parts.
type Config struct {
	Parts
	Tries int    // number of tries to decide and commit a task
	Span  string // name of the engine's spans
	// Waits returns the queue waits of requests by agent, for decisions that claim steps (P32, queue time is
	// not a failure). It may be nil.
	Waits func(now core.Time) map[string]core.Duration
	// Lengths returns the estimated time that the requests in each agent's queue will take (P44, several
	// agents can do one step). It may be nil.
	Lengths func() map[string]core.Duration
	// Claims means that decisions may claim steps, and therefore need the keys of tokens. It is false for
	// the Supervisor, which must not claim steps (P16, the Supervisor hands back and gives up).
	Claims bool
}

// Engine runs the loop of Load, Decide and Deliver. It is safe for concurrent use, and keeps nothing between
// two calls.
type Engine struct{ Config }

// Load reads the tasks of the jobs in one call, and then their definitions. It returns the jobs that did not
// fail. On the first try, it does not read a task that the messages may create, because most orders are new.
// If the order exists, the commit fails, and the job is loaded and decided again (P14, submit creates once).
func (e *Engine) Load(ctx context.Context, jobs []*Job) []*Job {
	var ids []string
	var loading []*Job
	good := jobs[:0:0]
	for _, j := range jobs {
		j.decided, j.err = decided{}, nil
		if e.Tracer != nil && j.span == nil && j.parent == nil {
			_, j.span = e.Tracer.Begin(ctx, e.Span)
		}
		if j.status == unread && j.creates() && e.State.Cached(j.ID) == nil {
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
		if err := e.loaded(ctx, j, loaded[i]); err != nil {
			j.Fail(err)
			continue
		}
		good = append(good, j)
	}
	return good
}

func (e *Engine) loaded(ctx context.Context, j *Job, l state.Loaded) (err error) {
	j.loaded, j.Task, j.status = l.Task, l.Task, max(j.status, read)
	switch {
	case l.Err != nil:
		return l.Err
	case l.Task != nil:
		j.order = l.Task.Order
		j.Definition, err = e.State.Definition(ctx, l.Task.Definition)
	case j.status >= reread:
		j.expired, err = e.State.Port().Ended(ctx, j.ID)
	}
	return err
}

// Decide decides the messages of loaded jobs, commits the tasks, and stores the outcomes in the messages. It
// loads a job and decides again if the loaded task was not the newest version, if another writer was faster,
// or if it is unknown whether the commit was stored. The causes in the document then show whether it was
// stored (P12).
func (e *Engine) Decide(ctx context.Context, jobs []*Job) {
	for try := 1; len(jobs) > 0; try++ {
		if jobs = e.attempt(ctx, jobs); try == e.Tries {
			for _, j := range jobs {
				j.Fail(fmt.Errorf("%w: %w", ErrLost, j.err))
			}
			return
		}
		jobs = e.Load(ctx, jobs)
	}
}

// attempt decides and commits once. It returns the jobs to load and decide again.
func (e *Engine) attempt(ctx context.Context, jobs []*Job) (again []*Job) {
	var changes []state.Change
	var changing []*Job
	known := e.known()
	for _, j := range jobs {
		switch err := e.decide(ctx, j, known); {
		case errors.Is(err, errReload):
			j.status, j.err = max(j.status, reread), err
			e.State.Forget(j.ID)
			again = append(again, j)
		case err != nil:
			j.Fail(err)
		case j.changed:
			j.Task.Version = 1 // the changed task is a copy, so Version may be set
			if j.loaded != nil {
				j.Task.Version = j.loaded.Version + 1
			}
			changing = append(changing, j)
			changes = append(changes,
				state.Change{Task: j.Task, Before: j.loaded, Order: j.order, Hash: j.hash})
		}
	}
	if len(changes) == 0 {
		return again
	}
	for i, err := range e.State.Commit(ctx, changes) {
		j := changing[i]
		if err == nil {
			j.status = stored
		} else if e.uncommitted(ctx, j, err) {
			j.err = err
			again = append(again, j)
		}
	}
	return again
}

// uncommitted handles a failed commit. It reports whether the job has to be loaded and decided again.
func (e *Engine) uncommitted(ctx context.Context, j *Job, err error) (again bool) {
	switch {
	case errors.Is(err, port.ErrExists):
		j.status = max(j.status, reread)
		return true
	case errors.Is(err, port.ErrTooLarge):
		return e.refuseLarge(j, err)
	case errors.Is(err, port.ErrUnavailable):
		j.Fail(err)
		return false
	case errors.Is(err, port.ErrConflict):
		return true
	}
	j.status = inDoubt
	if ctx.Err() != nil {
		j.Fail(err)
		return false
	}
	e.Logger.Warn("perhaps stored; looking", "order", j.ID, "error", err)
	return true
}

// known returns the values that all decisions of an attempt share.
func (e *Engine) known() protocol.At {
	at := protocol.At{By: e.Name, SizeLimit: e.State.Room()}
	if e.Waits != nil {
		at.Waits = e.Waits(core.TimeOf(e.Clock.Now()))
	}
	if e.Lengths != nil {
		at.Queues = e.Lengths()
	}
	return at
}

// About returns the log fields of an event: the order, and the run, step and attempt if the event has them.
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
