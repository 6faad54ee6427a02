package check

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// passed reports whether a step has ended. Later steps need not wait for such a step.
func passed(s *protocol.Step) bool {
	return s.State == core.Processed || s.State == core.Skipped || s.State == core.Compensated ||
		s.State == core.Settling
}

// PastReturn reports whether a point of no return was claimed (P22, a point of no return forbids undo). A
// claim does not count if a proof shows that the claim had no effect (P22a, a proven refusal permits undo).
func PastReturn(def *core.Definition, t *protocol.Task) bool {
	for i := range t.Steps {
		if s := &t.Steps[i]; def.Steps[i].PointOfNoReturn && s.Attempted() && s.NoEffect == 0 {
			return true
		}
	}
	return false
}

// alerts reports whether the end of the task alerts the operator (P11, an end is reported until settled).
// Every Error alerts the operator. An undo after a failure alerts the operator only if the workflow requests
// an alert.
func alerts(def *core.Definition, t *protocol.Task) bool {
	undone := t.ProcessState == core.Compensated && t.Undo.Why == protocol.WhyFailure
	return t.ProcessState == core.Error || undone && def != nil && def.AlertUndone
}

// live returns the earliest time at which an actor must process the task, or 0 if there is no such time (P9,
// tasks not at rest are due).
func live(t *protocol.Task) core.Time {
	first := t.ResendTime()
	add := func(at core.Time) {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
	if t.ProcessState == core.Processing {
		add(t.Deadline.At)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		waits := s.State == core.Pending && s.Attempted() || s.State == core.Failed ||
			s.State == core.UndoWait || s.State == core.Waiting || s.State == core.Settling
		if s.InFlight() || going && waits {
			add(s.CompleteBy)
		}
	}
	return first
}

// decidedOf returns the decision that the output of an answered step contains. The result ok is false if the
// step has no decision.
func decidedOf(s *protocol.Step) (d protocol.Decided, ok bool) {
	ok = s.Answers != nil && s.Output != nil && json.Unmarshal(s.Output, &d) == nil
	return d, ok
}
