// Package engine is the one loop of the actors that move tasks, the Scheduler and the Supervisor: load,
// decide, commit on the version, send the effects, settle. It has no authority of its own: any number of
// instances may run at once, the version in the store decides (P8).
//
// A crash before the commit changes nothing. One after it is healed by the redelivery of the same message,
// which emits the same effects again (P12); a message that comes no more is healed by the due time that
// every commit leaves behind (P9).
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
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

// Config is what an Engine needs. State, Queues, Alerts, Clock, By, Tries and Logger are required.
type Config struct {
	State  *state.Store
	Queues port.Queues
	Alerts port.Alerts
	Clock  port.Clock
	By     string // the instance, for LockedBy
	Tries  int    // how often a task is decided in one run
	// WakeSlack is added to the delay of a Wake, so that it does not come before its time by
	// another clock: 1 s between machines, some milliseconds inside a process.
	WakeSlack time.Duration
	// FairQueues puts the order's tenant on each request (rule 4). Replies and control messages have
	// none: the Scheduler does not let them wait.
	FairQueues bool
	// Waits is what the instance has learnt of the agents' queues (P32); nil: nothing.
	Waits  func() map[string]core.Duration
	Logger *slog.Logger
	Count  func(what, why string) // counts what people should know of; may be nil
}

// Engine is safe for concurrent use. It keeps nothing between two runs.
type Engine struct{ Config }

// Run takes the jobs to their ends. A message whose Err is nil afterwards is stored and sent in whole, and
// may be deleted (P13). A request that no queue takes makes its step fail for good, which is a decision of
// its own (P28). The error is the store's where it loaded nothing.
func (e *Engine) Run(ctx context.Context, jobs []*Job) error {
	var failed error
	for rounds := 0; len(jobs) > 0; rounds++ {
		if err := e.store(ctx, jobs); failed == nil {
			failed = err
		}
		further := e.deliver(ctx, jobs)
		e.settle(ctx, jobs)
		if rounds == maxFurther {
			for _, j := range further {
				j.fail(errTooManyRounds)
			}
			break
		}
		jobs = further
	}
	return failed
}

// maxFurther bounds how many requests in a row are too large for their queue in one run.
const maxFurther = 50

// store loads, decides and commits the jobs, again and again for those that another writer was
// faster with, or whose answer is in doubt: the cause in the document tells "mine already" (P12).
func (e *Engine) store(ctx context.Context, jobs []*Job) error {
	for try := 0; len(jobs) > 0; try++ {
		if try == e.Tries {
			for _, j := range jobs {
				j.fail(fmt.Errorf("%w: %w", ErrLost, j.lost))
			}
			break
		}
		loaded, err := e.load(ctx, jobs)
		if err != nil {
			return err
		}
		jobs = e.attempt(ctx, loaded)
	}
	return nil
}

// load fills in the jobs' tasks with one call; those that cannot be loaded fail. Of an order that comes
// for the first time nothing is read: the create itself finds out whether it is there (P14), which spares
// most submissions a load.
func (e *Engine) load(ctx context.Context, jobs []*Job) ([]*Job, error) {
	var ids []string
	var loading []*Job
	good := jobs[:0:0]
	for _, j := range jobs {
		if j.unseen && e.State.Cached(j.ID) == nil {
			good = append(good, j)
			continue
		}
		ids, loading = append(ids, j.ID), append(loading, j)
	}
	if len(ids) == 0 {
		return good, nil
	}
	loaded, err := e.State.Load(ctx, ids)
	if err != nil {
		for _, j := range loading {
			j.fail(err)
		}
		return good, err
	}
	for i, j := range loading {
		j.loaded, j.unseen = loaded[i].Task, false
		err := loaded[i].Err
		if err == nil && j.loaded == nil && j.exists {
			j.expired, err = e.orderAlone(ctx, j.ID)
		}
		if err != nil {
			j.fail(err)
			continue
		}
		good = append(good, j)
	}
	return good, nil
}

// orderAlone: the task is gone, its order is the tombstone that keeps it from running twice (P26).
func (e *Engine) orderAlone(ctx context.Context, id string) (bool, error) {
	_, err := e.State.LoadOrder(ctx, id)
	if errors.Is(err, port.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// attempt decides and commits; it answers the jobs that have to be loaded again.
func (e *Engine) attempt(ctx context.Context, jobs []*Job) (again []*Job) {
	var changes []state.Change
	var changing []*Job
	for _, j := range jobs {
		switch err := e.decide(ctx, j); {
		case errors.Is(err, ErrReload):
			j.reread, j.exists, j.unseen, j.lost = true, j.exists || j.unseen, false, err
			e.State.Forget(j.ID)
			again = append(again, j)
		case err != nil:
			j.fail(err)
		case j.changed:
			changes, changing = append(changes, j.change()), append(changing, j)
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
		j.exists, j.unseen = true, false
		return true
	case errors.Is(err, port.ErrTooLarge):
		return e.shrink(j, err)
	case errors.Is(err, port.ErrUnavailable), ctx.Err() != nil:
		j.fail(err)
		return false
	case !errors.Is(err, port.ErrConflict):
		e.Logger.Warn("perhaps stored; looking", "task", j.ID, "error", err)
	}
	return true
}

// shrink cuts the largest output out of a document that is too large (P28). A submission that is
// too large by itself is refused.
func (e *Engine) shrink(j *Job, err error) (again bool) {
	if m := j.largest(); m != nil {
		m.cut = true
		step := m.event.(core.Reply).Step
		e.count("output too large", step)
		e.Logger.Warn("an output does not fit into the document; its step fails", "task", j.ID, "step", step)
		return true
	}
	if j.loaded == nil && !j.tooLarge {
		j.tooLarge = true
		return true
	}
	e.Logger.Error("the document does not fit into the store", "task", j.ID, "error", err)
	j.fail(err)
	return false
}

// deliver sends the effects of all jobs that are stored, or had nothing to store. The answer is
// the jobs that follow from requests which no queue takes.
func (e *Engine) deliver(ctx context.Context, jobs []*Job) (further []*Job) {
	var parcels []*parcel
	var sent []*Job
	for _, j := range jobs {
		if j.Err != nil || len(j.effects) == 0 {
			continue
		}
		j.parcel.effects = j.effects
		parcels, sent = append(parcels, &j.parcel), append(sent, j)
	}
	if len(parcels) == 0 {
		return nil
	}
	e.send(ctx, parcels)
	for _, j := range sent {
		if j.parcel.err != nil {
			j.fail(j.parcel.err) // P12: its messages emit it again
			continue
		}
		if len(j.parcel.tooLarge) > 0 {
			j.settles = false
			further = append(further, j.unsendable(j.parcel.tooLarge))
		}
	}
	return further
}

// settle marks the ends as told whose every status and alert this very run has sent; a refused
// settle is dropped, since another writer went on from there (P11, H27).
func (e *Engine) settle(ctx context.Context, jobs []*Job) {
	var changes []state.Change
	for _, j := range jobs {
		if j.Err != nil || !j.settles {
			continue
		}
		settled := *core.Settled(j.Task)
		settled.Version = j.Task.Version + 1
		changes = append(changes, state.Change{Task: &settled})
	}
	if len(changes) == 0 {
		return
	}
	for i, err := range e.State.Commit(ctx, changes) {
		if err != nil {
			e.Logger.Debug("not settled; it will be told again", "task", changes[i].Task.OrderID, "error", err)
		}
	}
}

func (e *Engine) count(what, why string) {
	if e.Count != nil {
		e.Count(what, why)
	}
}
