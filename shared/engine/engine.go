// Package engine is the loop that Scheduler and Supervisor share. The loop has three steps:
//
//   - Load reads the tasks.
//   - Decide lets package protocol decide the events. It commits each task if its stored version is still the
//     loaded version.
//   - Deliver sends the effects, and settles the ends that it has reported.
//
// A [Job] holds one task, and the messages of a batch that are about this task. All messages of a job make one
// commit. If several instances decide about one task at the same time, only one commits (P8, every commit is
// conditional). The others load the task and decide again, up to Tries times. The caller may delete a message after
// Deliver has sent all effects (P13, delete after sending). Between Decide and Deliver, the caller adds the messages
// that report the outcomes.
//
// A failure before the commit changes nothing. After the commit, a redelivery of the message sends the same effects
// again (P12, effects are emitted again), or else a sweep finds the task at its due time (P9, tasks not at rest are
// due). A panic is an error of one message.
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

// StatusNotSent is what Count gets for a status that could not be sent, with the name of its receiver.
const StatusNotSent = "status not sent"

var (
	// ErrLost means that every try failed, usually because another writer was faster.
	ErrLost = errors.New("not stored: other writers were faster each time")

	// ErrUnsent means that the receiver of an answer is gone.
	ErrUnsent = errors.New("the answer could not be sent")

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
	// WakeSlack is added to the delay of a Wake. Without it, the Wake could be early for an instance whose
	// clock is slow. The slack is 1 s between machines, and some milliseconds inside a process.
	WakeSlack time.Duration
	// LongestWait shortens the waits of steps, to try a workflow. 0 shortens none.
	LongestWait time.Duration
	Logger      *slog.Logger
	Count       func(what, why string) // counts events for the log and the metrics; may be nil
	Tracer      port.Tracer            // recorder of spans; nil records none
	// Tokens returns the keys for the tokens of answers (P39, a token is an answer's permission). The
	// function is nil if there are no keys. If fresh is true, the function loads the keys again. If the
	// function returns an error, the messages return to their queue.
	Tokens func(ctx context.Context, fresh bool) (core.Tokens, error)
	// FairQueues means that each request has the tenant of its order as the message group (rule 4 in
	// docs/reference/aws-rules.md). The tenant is the part of the order's ID before the first colon.
	FairQueues bool
	// Senders lists for each agent the IDs of the roles that may send its replies (P3, a reply names request
	// and sender). If an agent has no entry, only the agent's name is checked.
	Senders map[string][]string
	// QueuesSince is the time at which the process made its queues in memory (P27, the embedded runtime
	// survives its queues). The request of an earlier claim was sent again at that time. So the age of that
	// request does not show whether its agent has received it, and the age of the reply does not show how long
	// requests wait (P32, queue time is not a failure). The zero value means that the queues outlive the process.
	QueuesSince core.Time
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
	// Claims means that decisions may claim steps. Such decisions need the keys of tokens. Claims is false
	// for the Supervisor, because the Supervisor must not claim steps (P16, the Supervisor hands back and
	// gives up).
	Claims bool
}

// Engine runs the loop of Load, Decide and Deliver. It is safe for concurrent use. Its only state is the
// numbers of the statuses that it is sending.
type Engine struct {
	Config
	sending sending
}

// Load reads the tasks of the jobs in one call, and then their definitions. It returns the jobs that did not
// fail.
//
// On the first try, Load skips a job if all its messages may create the task, because most orders are new. If
// the order exists, the commit fails, and Decide loads the task (P14, submit creates once).
func (e *Engine) Load(ctx context.Context, jobs []*Job) []*Job {
	var ids []string
	var loading []*Job
	good := jobs[:0:0]
	for _, j := range jobs {
		j.decided = decided{}
		j.err = nil
		if e.Tracer != nil && j.span == nil && j.parent == nil {
			_, j.span = e.Tracer.Begin(ctx, e.Span)
		}
		if j.status == unread && j.creates() && e.State.Cached(j.ID) == nil {
			good = append(good, j)
			continue
		}
		ids = append(ids, j.ID)
		loading = append(loading, j)
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
	j.loaded = l.Task
	j.Task = l.Task
	j.status = max(j.status, read)
	switch {
	case l.Err != nil:
		return l.Err
	case l.Task != nil && l.Task.Damaged != "":
		return e.damaged(ctx, j, l.Task.Damaged)
	case l.Task != nil:
		j.order = l.Task.Order
		j.Definition, err = e.State.Definition(ctx, l.Task.Workflow, l.Task.Definition)
		if errors.Is(err, port.ErrNotFound) || errors.Is(err, state.ErrDefinition) {
			return e.damaged(ctx, j, err.Error())
		}
		if err == nil && j.Aside { // only a task that is whole may leave its place
			_, err = e.State.Order(ctx, l.Task)
			if errors.Is(err, port.ErrNotFound) || errors.Is(err, core.ErrUnfit) {
				return e.damaged(ctx, j, err.Error())
			}
		}
	case j.status >= reread:
		j.expired, err = e.State.Port().Ended(ctx, j.ID)
	}
	return err
}

// Decide decides the messages of loaded jobs, commits the tasks, and stores the outcomes in the messages. It
// loads a job and decides again, up to Tries times, in these cases:
//   - The loaded task was not the newest version.
//   - Another writer was faster.
//   - The commit failed, but the store may have stored it. The causes in the loaded task then show whether
//     the commit was stored (P12).
func (e *Engine) Decide(ctx context.Context, jobs []*Job) {
	for try := 1; len(jobs) > 0; try++ {
		jobs = e.attempt(ctx, jobs)
		if try == e.Tries {
			for _, j := range jobs {
				j.Fail(fmt.Errorf("%w: %w", ErrLost, j.err))
			}
			return
		}
		jobs = e.Load(ctx, jobs)
	}
}

func (e *Engine) attempt(ctx context.Context, jobs []*Job) (again []*Job) {
	var changes []state.Change
	var changing []*Job
	known := e.known()
	for _, j := range jobs {
		switch err := e.decide(ctx, j, known); {
		case errors.Is(err, errReload):
			j.status = max(j.status, reread)
			j.err = err
			e.State.Forget(j.ID)
			again = append(again, j)
		case err != nil:
			j.Fail(err)
		case j.changed:
			j.Task.Version = 1 // the changed task is a copy, so Version may be set
			if j.loaded != nil {
				j.Task.Version = j.loaded.Version + 1
			}
			for _, m := range j.Messages {
				e.sending.begin(m.Decision.Effects)
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
			continue
		}
		again = e.uncommitted(ctx, j, err, again)
	}
	return again
}

// uncommitted handles a failed commit. It appends the job to again if Decide must load it and decide again.
func (e *Engine) uncommitted(ctx context.Context, j *Job, err error, again []*Job) []*Job {
	if e.loadsAgain(ctx, j, err) {
		j.err = err
		again = append(again, j)
	}
	for _, m := range j.Messages {
		if j.status != inDoubt {
			e.sending.refused(m.Decision.Effects)
		}
	}
	return again
}

func (e *Engine) loadsAgain(ctx context.Context, j *Job, err error) bool {
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

func (e *Engine) known() protocol.At {
	at := protocol.At{
		By: e.Name, SizeLimit: e.State.Room(), LongestWait: core.DurationOf(e.LongestWait),
		QueuesSince: e.QueuesSince,
	}
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
	case core.Answered:
		return append(about, "step", ev.Step, "run", ev.Run)
	case core.Command:
		switch ev.Name {
		case core.Cancel:
			return append(about, "run", ev.Run)
		case core.Resolve:
			return append(about, "step", ev.Step)
		}
	}
	return about
}

func (e *Engine) count(what, why string) {
	if e.Count != nil {
		e.Count(what, why)
	}
}
