package core

// Names of the index buckets; the same words as in package port.
const (
	bucketNone      = ""
	bucketDue       = "due"
	bucketAttention = "attention"
)

// Live is the earliest live time of the task (P9), or zero: then the task is at rest.
func Live(t *Task) Time {
	live := t.End.ResendAt
	going := t.ProcessState == Processing || t.ProcessState == Compensating
	if t.ProcessState == Processing {
		live = earliest(live, t.Deadline.At)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.InFlight() || going && s.AwaitsWake() {
			live = earliest(live, s.CompleteBy)
		}
	}
	return live
}

// AwaitsWake reports a step that waits for a Wake: handed back, in doubt, with its undo put off, or a wait.
func (s *Step) AwaitsWake() bool {
	return s.HandedBack() || s.State == Failed || s.State == UndoWait || s.State == Waiting
}

// OnlyWaits reports whether every due time of a running task is the end of a wait: for a time, an answer or
// its child orders. No request of it is with an agent, and no attempt will be repeated.
func OnlyWaits(t *Task) bool {
	if t.ProcessState != Processing && t.ProcessState != Compensating {
		return false
	}
	waits := false
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.State == Waiting:
			waits = true
		case s.InFlight() || s.AwaitsWake():
			return false
		}
	}
	return waits
}

// Index returns the task's place in the state store's index: the bucket "due" with the lazy due time,
// "attention" with the time that it entered Error, or "" (P9).
func Index(t *Task) (bucket string, at Time) {
	switch {
	case t.Due != 0:
		return bucketDue, t.Due
	case t.Attention:
		return bucketAttention, t.End.At
	}
	return bucketNone, 0
}

// reindex sets Due and Attention after a change. For the Supervisor everything before its
// clock has been dealt with and may move the time forward; every other caller only moves it back, so
// that a busy task rewrites its index entry as seldom as possible (P9, H16).
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
	t.Attention = t.ProcessState == Error && live == 0
}

// Push moves a lazy due time to the earliest live time, for the Supervisor that found nothing
// overdue. It reports whether that changed anything; the commit is conditional on the version (P10).
func Push(t *Task) (*Task, bool) {
	c := t.Clone()
	Reindex(c, true)
	if c.Due == t.Due && c.Attention == t.Attention {
		return t, false
	}
	return c, true
}

// Settled is the task after the final status and alert of its present end were sent (P11). The commit is
// conditional on the version that the teller committed or loaded; a refused one is dropped.
func Settled(t *Task) *Task {
	c := t.Clone()
	c.End.ResendAt = 0
	Reindex(c, false)
	return c
}

// SweepEvents lists what the Supervisor has to decide about a task at this time: steps and waits
// past their complete-by, the task's deadline, a final status unacknowledged for too long.
func SweepEvents(def *Definition, t *Task, now Time) []Event {
	var events []Event
	going := t.ProcessState == Processing || t.ProcessState == Compensating
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.CompleteBy.Passed(now) && (s.InFlight() || going && s.AwaitsWake()) {
			events = append(events, Overdue{Step: s.Name, Attempt: s.Attempt})
		}
	}
	if t.ProcessState == Processing && t.Deadline.At.Passed(now) {
		events = append(events, DeadlinePassed{Run: t.Run})
	}
	if t.End.ResendAt.Passed(now) {
		events = append(events, ResendDue{})
	}
	return events
}
