package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// goOnWithout lets a task go forward without a step that has failed for good (P42): the step is undone alone,
// by the rules of its grade. Later conditions read its failure, which stays as it is from here on (P12).
func (r *deciding) goOnWithout(i int) {
	s := &r.t.Steps[i]
	s.FailureCode = core.PlainCode(s.Error.Code)
	if s.FailureCode == "" {
		s.FailureCode = core.CodeFailed
	}
	switch {
	case !s.Attempted(): // nothing was asked for, so nothing is undone; the fixpoint goes on
		s.State = core.Compensated
	case r.bySupervisor(): // it claims nothing: it leaves a time and wakes the Scheduler (P16)
		s.State = core.UndoWait
		r.wakeNow(s)
	default:
		s.State = core.UndoWait
		r.undoAlone(i)
	}
}

// undoAlone begins or continues the undo of a step in a task that goes forward.
func (r *deciding) undoAlone(i int) {
	if r.undoStep(i) {
		r.advance()
	}
}

// wakeAlone goes on with such an undo when its wait is over.
func (r *deciding) wakeAlone(i int, _ core.Event) (string, error) {
	if r.at.Now < r.t.Steps[i].Wait.At {
		return "its wait is not over", nil
	}
	r.undoAlone(i)
	return "", nil
}
