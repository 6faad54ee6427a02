package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Names of the index buckets, as in package port.
const (
	bucketNone      = ""
	bucketDue       = "due"
	bucketAttention = "attention"
)

// Live returns the earliest time at which the task needs the Supervisor (P9, tasks not at rest are due). This
// is a resend time, the deadline, or the complete-by time, the deadline or the next reminder of a step. Live returns
// zero if no such time is set.
func Live(t *Task) core.Time {
	live := t.ResendTime()
	going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
	if t.ProcessState == core.Processing {
		live = earliest(live, t.Deadline.At)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.InFlight() || going && s.AwaitsWake() {
			live = earliest(live, s.CompleteBy)
		}
		if t.ProcessState == core.Processing {
			live = earliest(live, earliest(s.LateAt(), s.RemindAt()))
		}
	}
	return live
}

// AwaitsWake reports whether a Wake can continue the step. Such a step was handed back, has failed, waits
// for its undo, is Waiting, or is Settling.
func (s *Step) AwaitsWake() bool {
	return s.HandedBack() || s.State == core.Failed || s.State == core.UndoWait || s.State == core.Waiting ||
		s.State == core.Settling
}

// OnlyWaits reports whether a running task waits only for times, answers and child orders. Such a task has no
// request in flight, and no step that waits for another attempt.
func OnlyWaits(t *Task) bool {
	if t.ProcessState != core.Processing && t.ProcessState != core.Compensating {
		return false
	}
	waits := false
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.State == core.Waiting || s.State == core.Settling:
			waits = true
		case s.InFlight() || s.AwaitsWake():
			return false
		}
	}
	return waits
}

// Index returns the task's place in the index of the state store (P9). For a task with a due time, this is
// "due" with that time. For a task with Attention, it is "attention" with the time of the Error. Otherwise
// the bucket is "". The due time may be earlier than the result of Live.
func Index(t *Task) (bucket string, at core.Time) {
	switch {
	case t.Due != 0:
		return bucketDue, t.Due
	case t.Attention:
		return bucketAttention, t.End.At
	}
	return bucketNone, 0
}

// Reindex sets Due and Attention after a change.
//
// If exact is true, Due becomes the result of Live. Only the Supervisor passes true, because it has handled
// everything that is due now. If exact is false, Due never becomes later, so that a busy task seldom rewrites
// its index entry (P9). It becomes 0 when Live returns zero.
func Reindex(t *Task, exact bool) {
	live := Live(t)
	switch {
	case live == 0:
		t.Due = 0
	case exact || t.Due == 0:
		t.Due = live
	default:
		t.Due = earliest(t.Due, live)
	}
	t.Attention = t.ProcessState == core.Error && live == 0
}

// Push replaces a due time that is too early by the result of Live. It reports whether the task changed. The
// Supervisor calls Push if nothing of the task is overdue. The commit is conditional on the version (P10,
// moving a due time is conditional).
func Push(t *Task) (*Task, bool) {
	c := t.Clone()
	Reindex(c, true)
	if c.Due == t.Due && c.Attention == t.Attention {
		return t, false
	}
	return c, true
}

// Settled returns the task with its present end marked as reported (P11, an end is reported until settled).
// The caller commits the result only if the stored version is still the version whose final status was sent.
// A refused commit is not repeated.
func Settled(t *Task) *Task {
	c := t.Clone()
	c.End.ResendAt = 0
	Reindex(c, false)
	return c
}

// SweepEvents returns the events that the Supervisor has to decide now. There is an event for each passed
// complete-by time or time of a reminder, for a passed deadline of the task or of a step, and for a passed resend time.
func SweepEvents(def *core.Definition, t *Task, now core.Time) []core.Event {
	var events []core.Event
	going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
	for i := range t.Steps {
		s := &t.Steps[i]
		reminds := t.ProcessState == core.Processing && s.RemindAt().Passed(now)
		if reminds || s.CompleteBy.Passed(now) && (s.InFlight() || going && s.AwaitsWake()) {
			events = append(events, core.Overdue{Step: s.Name, Attempt: s.Attempt})
		}
		if t.ProcessState == core.Processing && s.LateAt().Passed(now) {
			events = append(events, core.StepLate{Step: s.Name, Run: t.Run, Seq: s.Late.Seq})
		}
	}
	if t.ProcessState == core.Processing && t.Deadline.At.Passed(now) {
		events = append(events, core.DeadlinePassed{Run: t.Run})
	}
	if t.ResendTime().Passed(now) {
		events = append(events, core.ResendDue{})
	}
	return events
}

// earliest returns the earlier of two times. "No time" counts as later than every time.
func earliest(a, b core.Time) core.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
