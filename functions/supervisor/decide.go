package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// errClaimed: the core broke P16. Nothing of such a decision is stored or sent.
var errClaimed = errors.New("a decision of the Supervisor holds a request; it must not claim (P16)")

// visit is one task that the index shows as due.
type visit struct {
	engine.Message
	sweep *sweep
	job   *engine.Job
	read  bool   // the task was
	tally Report // what was done, if it is stored
}

// Decide of engine.Decider: all that is overdue in the task, in the order that the core lists it. Where
// nothing is, the due time was early, which is allowed, and is pushed (P9).
func (v *visit) Decide(ctx context.Context, j *engine.Job) ([]core.Effect, error) {
	w := v.sweep
	v.read = true
	if j.Task == nil || j.Task.AtRest() { // the index is a hint
		w.report.Stale++
		return nil, nil
	}
	found, events := j.Task, core.SweepEvents(j.Definition, j.Task, j.At.Now)
	if len(events) > 0 {
		w.report.Overdue++
		if found.Due != 0 {
			w.report.OldestOverdue = max(w.report.OldestOverdue, j.At.Now.Sub(found.Due).Std())
		}
	}
	for _, ev := range events {
		if o, ok := ev.(core.Overdue); ok {
			asked, err := w.asked(ctx, j.Task, o)
			if err != nil {
				return nil, err
			}
			if asked {
				continue
			}
			if o.Backlog, err = w.backlog(ctx, j.Definition, j.Task, o); err != nil {
				return nil, err
			}
			ev = o
		}
		if err := v.apply(ctx, j, ev); err != nil {
			return nil, err
		}
	}
	if j.Task == found && j.Push() {
		v.tally.Pushed++
	}
	return nil, nil
}

func (v *visit) apply(ctx context.Context, j *engine.Job, ev core.Event) error {
	before := j.Task
	d, err := j.Decide(ctx, ev)
	if err != nil || !d.Changed {
		return err
	}
	for _, e := range d.Effects {
		if r, ok := e.(core.SendRequest); ok {
			return fmt.Errorf("step %q: %w", r.Step, errClaimed)
		}
	}
	v.note(ev, before, d.Task)
	return nil
}

// note counts what one event did to the task.
func (v *visit) note(ev core.Event, before, after *core.Task) {
	if before.ProcessState != after.ProcessState {
		switch after.ProcessState {
		case core.Error:
			v.tally.Errors++
		case core.Compensating:
			v.tally.GivenUp++
		}
	}
	switch e := ev.(type) {
	case core.ResendDue:
		v.tally.Unreported++
	case core.Overdue:
		was, is := before.Step(e.Step), after.Step(e.Step)
		switch {
		case was == nil || is == nil:
		case !was.InFlight():
			v.tally.Asked++
		case is.State == core.Failed:
		case is.FailureCount == was.FailureCount && is.UndoFailures == was.UndoFailures:
			v.tally.Uncounted++
		default:
			v.tally.HandedBack++
		}
	}
}

// backlog reports whether a step in flight may be late because of a queue (P32): its agent takes nothing,
// more requests wait than the agent takes at a time, or more replies than the Scheduler does.
func (w *sweep) backlog(ctx context.Context, def *core.Definition, t *core.Task,
	o core.Overdue) (bool, error) {
	i, st := def.Index(o.Step), t.Step(o.Step)
	if i < 0 || st == nil || !st.InFlight() {
		return false, nil
	}
	agent := def.Steps[i].AskedAgent(st)
	depth, err := w.depth(ctx, port.Requests(agent))
	if err != nil || w.untaken(depth, st.ClaimedAt) || w.full(depth, agent) {
		return err == nil, err
	}
	return w.waiting(ctx, port.Replies, Scheduler)
}

// asked reports whether a Wake for a step that waits would only lengthen the control queue, where the
// one before it most likely is. The step stays due: a later sweep asks.
func (w *sweep) asked(ctx context.Context, t *core.Task, o core.Overdue) (bool, error) {
	if st := t.Step(o.Step); st == nil || st.InFlight() {
		return false, nil
	}
	return w.waiting(ctx, port.Control, Scheduler)
}

// pause is how long requests may be visible while their agent is there: agents pause between two calls.
const pause = 5 * time.Second

// untaken reports that an agent takes no requests, so that one made at that time is most likely still in its
// queue. Either requests are visible and none is being handled, or one is visible that is as old as the
// step's. A queue on SQS does not know the age of its messages.
func (w *sweep) untaken(d port.Depth, claimed core.Time) bool {
	switch {
	case d.Visible == 0:
		return false
	case d.Oldest == 0:
		return d.InFlight == 0
	}
	oldest := w.cfg.Clock.Now().Add(-d.Oldest)
	return d.InFlight == 0 && d.Oldest >= pause || !oldest.After(claimed.Std().Add(pause))
}

// full reports whether a queue holds more messages than are taken at a time. Those in flight count: messages
// of throttled or failed handlings are hidden, and wait all the same.
func (w *sweep) full(d port.Depth, taker string) bool {
	capacity := 0
	if w.cfg.Capacity != nil {
		capacity = w.cfg.Capacity(taker)
	}
	if capacity <= 0 {
		capacity = port.MaxBatch
	}
	return d.Visible+d.InFlight > capacity
}

func (w *sweep) waiting(ctx context.Context, queue, taker string) (bool, error) {
	depth, err := w.depth(ctx, queue)
	return err == nil && w.full(depth, taker), err
}

// depth asks each queue once in a sweep. A queue that is not deployed, or was deleted, is empty: the failure
// counts.
func (w *sweep) depth(ctx context.Context, queue string) (port.Depth, error) {
	if known, ok := w.depths[queue]; ok {
		return known, nil
	}
	var depth port.Depth
	q, err := w.cfg.Queues.Queue(queue)
	if err == nil {
		depth, err = q.Depth(ctx)
	}
	if err != nil && !errors.Is(err, port.ErrNotFound) {
		return port.Depth{}, fmt.Errorf("depth of queue %q: %w", queue, err)
	}
	w.depths[queue] = depth
	return depth, nil
}

func (r *Report) add(o Report) {
	r.HandedBack += o.HandedBack
	r.Uncounted += o.Uncounted
	r.Asked += o.Asked
	r.GivenUp += o.GivenUp
	r.Errors += o.Errors
	r.Unreported += o.Unreported
	r.Pushed += o.Pushed
}

// String says it in one line, the zeros left out.
func (r Report) String() string {
	text := fmt.Sprintf("%d scanned in %d shards", r.Scanned, r.Shards)
	for _, n := range []struct {
		count int
		what  string
	}{
		{r.Skipped, "shards of others"}, {r.Overdue, "overdue"}, {r.HandedBack, "handed back"},
		{r.Uncounted, "handed back uncounted"},
		{r.Asked, "asked again"}, {r.GivenUp, "given up"}, {r.Errors, "in Error"},
		{r.Unreported, "to be reported"}, {r.Pushed, "pushed"},
		{r.Started, "started by the clock"}, {r.Missed, "scheduled times skipped"}, {r.Stale, "stale"},
		{r.Lost, "lost to another writer"}, {r.Failed, "failed"},
	} {
		if n.count > 0 {
			text += fmt.Sprintf(", %d %s", n.count, n.what)
		}
	}
	if r.OldestOverdue > 0 {
		text += ", the oldest by " + r.OldestOverdue.Round(time.Millisecond).String()
	}
	return text
}
