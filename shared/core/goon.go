package core

// goOnWithout lets a task go forward without a step that has failed for good (P42): the step is undone alone,
// by the rules of its grade. Later conditions read its failure, which stays as it is from here on (P12).
func (r *deciding) goOnWithout(i int) {
	s := &r.t.Steps[i]
	s.FailureCode = plainCode(s.Error.Code)
	if s.FailureCode == "" {
		s.FailureCode = codeFailed
	}
	switch {
	case !s.Attempted(): // nothing was asked for, so nothing is undone; the fixpoint goes on
		s.State = Compensated
	case r.supervisor: // it claims nothing: it leaves a time and wakes the Scheduler (P16)
		s.State = UndoWait
		r.wakeNow(s)
	default:
		s.State = UndoWait
		r.undoAlone(i)
	}
}

// codeFailed stands for the code of a failure that came without one.
const codeFailed = "failed"

// undoAlone begins or continues the undo of a step in a task that goes forward.
func (r *deciding) undoAlone(i int) {
	if r.undoStep(i) {
		r.advance()
	}
}

// wakeAlone goes on with such an undo when its wait is over.
func (r *deciding) wakeAlone(i int, _ Event) (string, error) {
	if r.at.Now < r.t.Steps[i].Wait.At {
		return "its wait is not over", nil
	}
	r.undoAlone(i)
	return "", nil
}
