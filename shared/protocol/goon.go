package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// goOnWithout lets a task continue forward without a step that has failed for good (P42, orders can go on
// after failures). Only this step is undone, by the rules of its grade. Later conditions read its failure,
// which stays unchanged from now on (P12, effects are emitted again).
func (r *deciding) goOnWithout(i int) {
	s := &r.t.Steps[i]
	s.FailureCode = core.PlainCode(s.Error.Code)
	if s.FailureCode == "" {
		s.FailureCode = core.CodeFailed
	}
	switch {
	case !s.Attempted(): // no request was sent, so nothing is undone; advanceForward continues
		s.State = core.Compensated
	case r.bySupervisor(): // it only wakes the Scheduler (P16, the Supervisor hands back and gives up)
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

// wakeAlone continues the undo of undoAlone when its wait is over.
func (r *deciding) wakeAlone(i int, _ core.Event) (string, error) {
	if r.at.Now < r.t.Steps[i].Wait.At {
		return "its wait is not over", nil
	}
	r.undoAlone(i)
	return "", nil
}
