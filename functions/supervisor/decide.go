package supervisor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dispatch"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// errClaimed: the core broke P16. Nothing of such a decision is stored or sent.
var errClaimed = errors.New("a decision of the Supervisor holds a request; it must not claim (P16)")

// found is one task that has something overdue, or whose lazy due time can move.
type found struct {
	before  *core.Task
	next    *core.Task
	settles bool
	pushed  bool
	tally   Report
	parcel  dispatch.Parcel
}

// decide answers nil where there is nothing to store.
func (w *sweep) decide(ctx context.Context, t *core.Task) (c *found) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("decision panicked", "task", t.OrderID, "panic", p, "stack", string(debug.Stack()))
			w.fault(t.OrderID, fmt.Errorf("the decision panicked"))
			c = nil
		}
	}()
	c = &found{before: t, next: t}
	if err := w.fold(ctx, c); err != nil {
		w.fault(t.OrderID, err)
		return nil
	}
	if c.next == t { // nothing overdue: the due time was early, which is allowed (P9)
		pushed, moved := core.Push(t)
		if !moved {
			return nil
		}
		c.next, c.pushed = pushed, true
	}
	next := *c.next
	next.Version = t.Version + 1
	c.next = &next
	return c
}

// fold decides all that is overdue in the task, in the order that the core lists it.
func (w *sweep) fold(ctx context.Context, c *found) error {
	t := c.before
	def, err := w.cfg.State.Definition(ctx, t.Definition)
	if err != nil {
		return err
	}
	now := core.TimeOf(w.cfg.Clock.Now())
	events := core.SweepEvents(def, t, now)
	if len(events) == 0 {
		return nil
	}
	w.report.Overdue++
	if t.Due != 0 {
		w.report.OldestOverdue = max(w.report.OldestOverdue, now.Sub(t.Due).Std())
	}
	for _, ev := range events {
		if o, ok := ev.(core.Overdue); ok {
			if asked, err := w.asked(ctx, c.next, o); err != nil || asked {
				if err != nil {
					return err
				}
				continue
			}
			if o.Backlog, err = w.backlog(ctx, def, c.next, o); err != nil {
				return err
			}
			ev = o
		}
		d, err := w.ask(ctx, def, c.next, ev, core.At{Now: now, By: w.cfg.Owner})
		if err != nil {
			return err
		}
		if err := c.add(w, ev, d); err != nil {
			return err
		}
	}
	c.settles = core.ToldBy(def, c.next, c.parcel.Effects) // P11: the end as it is now
	return nil
}

// ask decides; the order is only loaded where the core needs it.
func (w *sweep) ask(ctx context.Context, def *core.Definition, t *core.Task, ev core.Event, at core.At) (core.Decision, error) {
	d, err := core.Decide(def, nil, t, ev, at)
	if !errors.Is(err, core.ErrOrderNeeded) {
		return d, err
	}
	order, err := w.cfg.State.LoadOrder(ctx, t.OrderID)
	if err != nil {
		return d, err
	}
	return core.Decide(def, order, t, ev, at)
}

func (c *found) add(w *sweep, ev core.Event, d core.Decision) error {
	for _, e := range d.Effects {
		if r, ok := e.(core.SendRequest); ok {
			return fmt.Errorf("step %q: %w", r.Step, errClaimed)
		}
		c.parcel.Effects = append(c.parcel.Effects, e)
	}
	c.note(ev, c.next, d.Task)
	if d.Changed {
		c.next = d.Task
	}
	return nil
}

// note counts what one event did to the task.
func (c *found) note(ev core.Event, before, after *core.Task) {
	if before.ProcessState != after.ProcessState {
		switch after.ProcessState {
		case core.Error:
			c.tally.Errors++
		case core.Compensating:
			c.tally.GivenUp++
		}
	}
	switch e := ev.(type) {
	case core.TellOverdue:
		c.tally.Told++
	case core.Overdue:
		was, is := before.Step(e.Step), after.Step(e.Step)
		switch {
		case was == nil || is == nil:
		case !was.InFlight():
			c.tally.Asked++
		case is.State == core.Failed:
		case is.FailureCount == was.FailureCount && is.UndoFailures == was.UndoFailures:
			c.tally.Uncounted++
		default:
			c.tally.HandedBack++
		}
	}
}

// backlog tells whether a step in flight may be late because of a queue (P32): more requests wait
// than its agent takes at a time, or more replies than the Scheduler does.
func (w *sweep) backlog(ctx context.Context, def *core.Definition, t *core.Task, o core.Overdue) (bool, error) {
	i, st := def.Index(o.Step), t.Step(o.Step)
	if i < 0 || st == nil || !st.InFlight() {
		return false, nil
	}
	agent := def.Steps[i].Agent
	if late, err := w.waiting(ctx, port.Requests(agent), agent); late || err != nil {
		return late, err
	}
	return w.waiting(ctx, port.Replies, Scheduler)
}

// asked tells whether a Wake for a step that waits would only lengthen the control queue, where the
// one before it most likely is. The step stays due: a later sweep asks.
func (w *sweep) asked(ctx context.Context, t *core.Task, o core.Overdue) (bool, error) {
	if st := t.Step(o.Step); st == nil || st.InFlight() {
		return false, nil
	}
	return w.waiting(ctx, port.Control, Scheduler)
}

// waiting asks once per queue and sweep whether there are more messages in it than are taken at a time.
// Those in flight count: messages of throttled or failed handlings are hidden, and wait all the same.
func (w *sweep) waiting(ctx context.Context, queue, taker string) (bool, error) {
	if known, ok := w.backlogs[queue]; ok {
		return known, nil
	}
	var depth port.Depth
	q, err := w.cfg.Queues.Queue(queue)
	if err == nil {
		depth, err = q.Depth(ctx)
	}
	switch {
	case errors.Is(err, port.ErrNotFound): // not deployed, or deleted: no queue, no backlog, and the failure counts
		w.backlogs[queue] = false
		return false, nil
	case err != nil:
		return false, fmt.Errorf("depth of queue %q: %w", queue, err)
	}
	capacity := 0
	if w.cfg.Capacity != nil {
		capacity = w.cfg.Capacity(taker)
	}
	if capacity <= 0 {
		capacity = port.MaxBatch
	}
	w.backlogs[queue] = depth.Visible+depth.InFlight > capacity
	return w.backlogs[queue], nil
}

// carryOut commits, then sends, then settles what it told itself (P11). A lost commit is left to
// whoever was faster; a failed send to the due time that the commit left behind.
func (w *sweep) carryOut(ctx context.Context, cases []*found) {
	if len(cases) == 0 {
		return
	}
	changes := make([]state.Change, len(cases))
	for i, c := range cases {
		changes[i] = state.Change{Task: c.next}
	}
	var parcels []*dispatch.Parcel
	var stored []*found
	for i, err := range w.cfg.State.Commit(ctx, changes) {
		c := cases[i]
		switch {
		case errors.Is(err, port.ErrConflict), errors.Is(err, port.ErrNotFound):
			w.report.Lost++
		case err != nil:
			w.fault(c.before.OrderID, err)
		case c.pushed:
			w.report.Pushed++
		default:
			w.report.add(c.tally)
			parcels, stored = append(parcels, &c.parcel), append(stored, c)
		}
	}
	if len(parcels) == 0 {
		return
	}
	w.send.Send(ctx, parcels)
	changes = changes[:0]
	for _, c := range stored {
		switch {
		case c.parcel.Err != nil:
			w.fault(c.before.OrderID, c.parcel.Err)
		case c.settles:
			settled := *core.Settled(c.next)
			settled.Version = c.next.Version + 1
			changes = append(changes, state.Change{Task: &settled})
		}
	}
	if len(changes) == 0 {
		return
	}
	for i, err := range w.cfg.State.Commit(ctx, changes) {
		if err != nil { // dropped: the tell time brings it back
			w.log.Debug("not settled; it will be told again", "task", changes[i].Task.OrderID, "error", err)
		}
	}
}

func (r *Report) add(o Report) {
	r.HandedBack += o.HandedBack
	r.Uncounted += o.Uncounted
	r.Asked += o.Asked
	r.GivenUp += o.GivenUp
	r.Errors += o.Errors
	r.Told += o.Told
}

// String says it in one line, the zeros left out.
func (r Report) String() string {
	text := fmt.Sprintf("%d scanned in %d shards", r.Scanned, r.Shards)
	for _, n := range []struct {
		count int
		what  string
	}{
		{r.Skipped, "shards of others"}, {r.Overdue, "overdue"}, {r.HandedBack, "handed back"}, {r.Uncounted, "handed back uncounted"},
		{r.Asked, "asked again"}, {r.GivenUp, "given up"}, {r.Errors, "in Error"}, {r.Told, "to be told"}, {r.Pushed, "pushed"},
		{r.Stale, "stale"}, {r.Lost, "lost to another writer"}, {r.Failed, "failed"},
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
