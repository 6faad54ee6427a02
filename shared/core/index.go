package core

// Names of the index buckets. Package port uses the same words.
const (
	bucketNone      = ""
	bucketDue       = "due"
	bucketAttention = "attention"
)

// Live returns the earliest live time of the task: the time at which it needs the Supervisor (P9, tasks not
// at rest are due). Live times are the resend time of an end, the deadline, and the complete-by of a step.
// Live returns zero if the task is at rest.
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

// AwaitsWake reports whether the step waits for a Wake: it was handed back, is in doubt, waits before its
// undo, or is a wait.
func (s *Step) AwaitsWake() bool {
	return s.HandedBack() || s.State == Failed || s.State == UndoWait || s.State == Waiting
}

// OnlyWaits reports whether every due time of a running task is the end of a wait: for a time, an answer or
// its child orders. Then no agent has a request of the task, and no attempt will be repeated.
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

// Index returns the task's place in the state store's index: the bucket "due" with the due time, which may be
// earlier than Live, "attention" with the time that it entered Error, or "" (P9).
func Index(t *Task) (bucket string, at Time) {
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
// The Supervisor passes exact: it has handled everything before its clock, and may move Due forward. Every
// other caller only moves Due back, so that a busy task rewrites its index entry as seldom as possible (P9,
// H16).
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

// Push moves a due time that is too early forward to Live. The Supervisor calls it if it found nothing
// overdue. It reports whether that changed anything; the commit is conditional on the version (P10, moving a
// due time is conditional).
func Push(t *Task) (*Task, bool) {
	c := t.Clone()
	Reindex(c, true)
	if c.Due == t.Due && c.Attention == t.Attention {
		return t, false
	}
	return c, true
}

// Settled returns the task after the final status and alert of its present end were sent (P11, an end is
// reported until settled). The commit requires the version that the sender committed or loaded. If the commit
// is refused, it is not repeated.
func Settled(t *Task) *Task {
	c := t.Clone()
	c.End.ResendAt = 0
	Reindex(c, false)
	return c
}

// SweepEvents returns the events that the Supervisor has to decide about a task at this time: for steps and
// waits past their complete-by, for the task's deadline, and for a final status that is unacknowledged for
// too long.
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
