package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dispatch"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// store loads, decides and commits the jobs, again and again for those that another writer was
// faster with, or whose answer is in doubt: the cause in the document tells "mine already" (P12).
func (s *Scheduler) store(ctx context.Context, jobs []*job) {
	for try := 0; len(jobs) > 0; try++ {
		if try == s.cfg.Tries {
			for _, j := range jobs {
				j.fail(fmt.Errorf("task %q: %w", j.id, errLost))
			}
			return
		}
		jobs = s.attempt(ctx, jobs)
	}
}

// attempt answers the jobs that have to be loaded again.
func (s *Scheduler) attempt(ctx context.Context, jobs []*job) (again []*job) {
	var changes []state.Change
	var changing []*job
	for _, j := range s.load(ctx, jobs) {
		switch err := s.fold(ctx, j); {
		case errors.Is(err, errReload):
			j.reread = true
			s.cfg.State.Forget(j.id)
			again = append(again, j)
		case err != nil:
			s.log.Error("not decided; the messages are given back", "task", j.id, "error", err)
			j.fail(err)
		case j.changed:
			changes, changing = append(changes, j.change()), append(changing, j)
		}
	}
	if len(changes) == 0 {
		return again
	}
	for i, err := range s.cfg.State.Commit(ctx, changes) {
		if err != nil && s.uncommitted(ctx, changing[i], err) {
			again = append(again, changing[i])
		}
	}
	return again
}

// load fills in the jobs' tasks with one call; those that cannot be loaded are given back. Of an
// order that comes for the first time nothing is read: the create itself finds out whether it is
// there (P14), which spares most submissions a load.
func (s *Scheduler) load(ctx context.Context, jobs []*job) []*job {
	var ids []string
	var loading []*job
	good := jobs[:0:0]
	for _, j := range jobs {
		if j.fresh() && s.cfg.State.Cached(j.id) == nil {
			good = append(good, j)
			continue
		}
		ids, loading = append(ids, j.id), append(loading, j)
	}
	if len(ids) == 0 {
		return good
	}
	loaded := s.cfg.State.Load(ctx, ids)
	for i, j := range loading {
		j.task, j.looked = loaded[i].Task, true
		err := loaded[i].Err
		if err == nil && j.task == nil && j.existed {
			j.ended, err = s.orderAlone(ctx, j.id)
		}
		if err != nil {
			s.log.Error("not loaded; the messages are given back", "task", j.id, "error", err)
			j.fail(err)
			continue
		}
		good = append(good, j)
	}
	return good
}

// fresh: nothing but submissions of an order that nobody has been seen to know.
func (j *job) fresh() bool {
	for _, it := range j.items {
		if it.submit == nil {
			return false
		}
	}
	return !j.existed && !j.reread && j.task == nil
}

// orderAlone: the task is gone, its order is the tombstone that keeps it from running twice (P26).
func (s *Scheduler) orderAlone(ctx context.Context, id string) (bool, error) {
	_, err := s.cfg.State.LoadOrder(ctx, id)
	if errors.Is(err, port.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// uncommitted deals with a commit that failed; it reports whether to load and decide again.
func (s *Scheduler) uncommitted(ctx context.Context, j *job, err error) (again bool) {
	switch {
	case errors.Is(err, port.ErrExists):
		j.existed = true
		return true
	case errors.Is(err, port.ErrTooLarge):
		return s.shrink(j, err)
	case errors.Is(err, port.ErrUnavailable), ctx.Err() != nil:
		s.log.Warn("not known to be stored; the messages are given back", "task", j.id, "error", err)
		j.fail(err)
		return false
	case !errors.Is(err, port.ErrConflict):
		s.log.Warn("perhaps stored; looking", "task", j.id, "error", err)
	}
	return true
}

// shrink cuts the largest output out of a document that is too large (P28). A submission that is
// too large by itself is refused.
func (s *Scheduler) shrink(j *job, err error) (again bool) {
	if it := j.largest(); it != nil {
		it.tooLarge = true
		s.count("output too large", it.ev.(core.Reply).Step)
		s.log.Warn("an output does not fit into the document; its step fails", "task", j.id, "step", it.ev.(core.Reply).Step)
		return true
	}
	s.log.Error("the document does not fit into the store", "task", j.id, "error", err)
	j.fail(err)
	if j.task == nil {
		j.failed, j.changed, j.settles, j.effects = false, false, false, nil
		for _, it := range j.items {
			it.err = nil
			s.refuse(j, it, &message.Refusal{Code: CodeTooLarge, Field: "order",
				Text: "the order's task does not fit into the store; store large data elsewhere and send a reference"})
		}
	}
	return false
}

// deliver sends the effects of all jobs that are stored, or had nothing to store. The answer is
// the jobs that follow from requests which no queue takes.
func (s *Scheduler) deliver(ctx context.Context, jobs []*job) (further []*job) {
	var parcels []*dispatch.Parcel
	var sent []*job
	for _, j := range jobs {
		if j.failed || len(j.effects) == 0 {
			continue
		}
		j.parcel.Effects = j.effects
		parcels, sent = append(parcels, &j.parcel), append(sent, j)
	}
	if len(parcels) == 0 {
		return nil
	}
	s.send.Send(ctx, parcels)
	for _, j := range sent {
		if j.parcel.Err != nil {
			s.log.Warn("not all was sent; the messages are given back", "task", j.id, "error", j.parcel.Err)
			j.fail(j.parcel.Err) // P12: they emit it again
			continue
		}
		if len(j.parcel.TooLarge) > 0 {
			j.settles = false
			further = append(further, &job{id: j.id, parent: j, items: unsendable(j.parcel.TooLarge)})
		}
	}
	return further
}

// unsendable are the failures of steps whose requests no queue takes (P28).
func unsendable(requests []core.SendRequest) []*item {
	items := make([]*item, len(requests))
	for i, r := range requests {
		items[i] = &item{ev: core.Reply{
			Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeFailed, Code: "input-too-large",
			Message: fmt.Sprintf("the request to agent %q is larger than a message of %d bytes; pass a reference instead of the data", r.Agent, port.MaxMessage),
		}}
	}
	return items
}

// settle marks the ends as told whose every status and alert this very handling has sent; a
// refused settle is dropped, since somebody else went on from there (P11, H27).
func (s *Scheduler) settle(ctx context.Context, jobs []*job) {
	var changes []state.Change
	for _, j := range jobs {
		if j.failed || !j.settles {
			continue
		}
		changes = append(changes, state.Change{Task: settled(j.next)})
	}
	if len(changes) == 0 {
		return
	}
	for i, err := range s.cfg.State.Commit(ctx, changes) {
		if err != nil {
			s.log.Debug("not settled; it will be told again", "task", changes[i].Task.OrderID, "error", err)
		}
	}
}

func settled(t *core.Task) *core.Task {
	c := *core.Settled(t)
	c.Version = t.Version + 1
	return &c
}
