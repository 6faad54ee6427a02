package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// events adds an event to a job for each overdue part of the job's task, in the order of protocol.SweepEvents. A
// task can be due before any part is overdue (P9, tasks not at rest are due). In this case the job only moves
// the due time forward.
func (w *sweep) events(ctx context.Context, j *engine.Job) error {
	if j.Task != nil && j.Task.Damaged != "" {
		w.report.Damaged++
		j.Messages = append(j.Messages, &engine.Message{OrderID: j.ID, Event: core.ResendDue{}})
		return nil
	}
	if j.Task == nil || j.Task.AtRest() { // the index was outdated
		w.report.Stale++
		return nil
	}
	j.Push = true
	j.Now = core.TimeOf(w.cfg.Clock.Now())
	events := protocol.SweepEvents(j.Definition, j.Task, j.Now)
	if len(events) > 0 {
		w.report.Overdue++
		if j.Task.Due != 0 {
			w.report.OldestOverdue = max(w.report.OldestOverdue, j.Now.Sub(j.Task.Due).Std())
		}
	}
	for _, ev := range events {
		asked, err := w.asked(ctx, j.Task, ev)
		if err != nil {
			return err
		}
		if asked {
			continue
		}
		if o, ok := ev.(core.Overdue); ok {
			o.Queue, err = w.queueOf(ctx, j.Definition, j.Task, o)
			if err != nil {
				return err
			}
			ev = o
		}
		j.Messages = append(j.Messages, &engine.Message{OrderID: j.ID, Event: ev})
	}
	return nil
}

func (w *sweep) tally(j *engine.Job) {
	if j.Pushed {
		w.report.Pushed++
	}
	for _, m := range j.Messages {
		if m.Decision.Changed {
			w.report.count(m.Event, m.Before, m.Decision.Task)
		}
	}
}

func (r *Report) count(ev core.Event, before, after *protocol.Task) {
	if before.ProcessState != after.ProcessState {
		switch after.ProcessState {
		case core.Error:
			r.Errors++
		case core.Compensating:
			r.GivenUp++
		}
	}
	switch e := ev.(type) {
	case core.ResendDue:
		r.Unreported++
	case core.Overdue:
		was := before.Step(e.Step)
		is := after.Step(e.Step)
		switch {
		case was == nil || is == nil:
		case !was.InFlight():
			r.Asked++
		case !was.Claim.Undo && is.State != core.Pending: // the step was given up
		case is.Failures.Do == was.Failures.Do && is.Failures.Undo == was.Failures.Undo:
			r.Uncounted++
		default:
			r.HandedBack++
		}
	}
}

// queueOf reports whether a step in flight may be late because of a queue (P32, queue time is not a failure).
// The cases are:
//   - A restart has lost the queue that held the request, or the machine slept.
//   - The agent has no queue, so the request could not be sent.
//   - The agent does not run, or too many requests wait for it.
//   - Too many replies wait for the Scheduler, or the reply of the step may be one that waits.
func (w *sweep) queueOf(ctx context.Context, def *core.Definition, t *protocol.Task,
	o core.Overdue,
) (core.QueueState, error) {
	i := def.Index(o.Step)
	st := t.Step(o.Step)
	if i < 0 || st == nil || !st.InFlight() {
		return core.QueueClear, nil
	}
	if w.interrupted(st) {
		return core.QueuePassed, nil
	}
	agent := st.AskedAgent(&def.Steps[i])
	depth, err := w.depth(ctx, port.Requests(agent))
	switch {
	case st.Claim.Progress != nil: // its agent has received the request (P43, long work reports progress)
	case errors.Is(err, port.ErrNotFound):
		return core.QueueHeld, nil
	case err != nil:
		return core.QueueClear, err
	case w.untaken(depth, st.Claim.At.Add(core.DurationOf(pause))), w.full(depth, agent):
		return core.QueueHeld, nil
	}
	depth, err = w.depth(ctx, port.Replies)
	switch {
	case errors.Is(err, port.ErrNotFound):
		return core.QueueClear, nil
	case err != nil:
		return core.QueueClear, err
	case w.full(depth, Scheduler):
		return core.QueueHeld, nil
	case w.untaken(depth, st.CompleteBy):
		return core.QueuePassed, nil
	}
	return core.QueueClear, nil
}

// asleep is the time after which an overdue step is found only if the process did not run meanwhile.
const asleep = core.Minute

// interrupted reports whether a process with queues in memory did not run for all of the time of an attempt, because
// it was started or the machine slept. After a clock that was ahead at the start, new claims seem to be from before
// the start.
func (w *sweep) interrupted(s *protocol.Step) bool {
	since := w.cfg.QueuesSince
	now := core.TimeOf(w.cfg.Clock.Now())
	return since != 0 && since <= now && (s.Claim.At < since || now.Sub(s.CompleteBy) > asleep)
}

// asked reports whether a waiting step needs no further Wake, and a report no further Settle, because the
// control queue has a backlog. The backlog most likely contains the earlier Wake or Settle, and a further one
// would only lengthen the queue. The step or report stays due for a later sweep.
//
// The sweep reads the depth before it sends its first Settle. So the Settles of a sweep never stop its Wakes.
func (w *sweep) asked(ctx context.Context, t *protocol.Task, ev core.Event) (bool, error) {
	switch ev := ev.(type) {
	case core.Overdue:
		if st := t.Step(ev.Step); st == nil || st.InFlight() {
			return false, nil
		}
	case core.ResendDue:
	default:
		return false, nil
	}
	depth, err := w.depth(ctx, port.Control)
	if errors.Is(err, port.ErrNotFound) {
		return false, nil
	}
	return err == nil && w.full(depth, Scheduler), err
}

// pause is how long messages can stay visible although their consumer runs, because it pauses between two
// receives.
const pause = 5 * time.Second

// untaken reports whether a message that was sent by the given time is probably still in its queue. There are
// two signs:
//   - No message is in flight, and the oldest has been visible for the time pause. So nobody takes messages.
//   - The oldest visible message was sent by the given time.
//
// SQS does not report the age of messages. Then Oldest is 0, and only the first sign counts, without pause.
func (w *sweep) untaken(d port.Depth, sent core.Time) bool {
	switch {
	case d.Visible == 0:
		return false
	case d.Oldest == 0:
		return d.InFlight == 0
	}
	oldest := w.cfg.Clock.Now().Add(-d.Oldest)
	return d.InFlight == 0 && d.Oldest >= pause || !oldest.After(sent.Std())
}

// full reports whether a queue holds more messages than its consumer, the taker, takes at a time. Messages in
// flight count too: a message stays in flight while it waits after a throttled or failed handling.
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

// depth returns the depth of a queue. It reads each queue once per sweep. The error is port.ErrNotFound if the
// deployment has no such queue.
func (w *sweep) depth(ctx context.Context, queue string) (port.Depth, error) {
	if known, ok := w.depths[queue]; ok {
		return known, nil
	}
	var depth port.Depth
	q, err := w.cfg.Queues.Queue(queue)
	if err == nil {
		depth, err = q.Depth(ctx)
	}
	if err != nil {
		return port.Depth{}, fmt.Errorf("depth of queue %q: %w", queue, err)
	}
	w.depths[queue] = depth
	return depth, nil
}

// String returns the report in one line. It omits numbers that are 0.
func (r Report) String() string {
	text := fmt.Sprintf("%d scanned in %d shards", r.Scanned, r.Shards)
	for _, n := range []struct {
		count int
		what  string
	}{
		{r.Skipped, "shards of others"},
		{r.Overdue, "overdue"},
		{r.HandedBack, "handed back"},
		{r.Uncounted, "handed back uncounted"},
		{r.Asked, "asked again"},
		{r.GivenUp, "given up"},
		{r.Errors, "in Error"},
		{r.Unreported, "to be reported"},
		{r.Pushed, "pushed"},
		{r.Started, "started by the clock"},
		{r.Missed, "scheduled times skipped"},
		{r.Stale, "stale"},
		{r.Damaged, "damaged"},
		{r.Lost, "lost to another writer"},
		{r.Failed, "failed"},
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
