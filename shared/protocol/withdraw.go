package protocol

import (
	"cmp"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// unwanted reports whether the step that a step serves has ended, so that nobody wants the step any more. This is a
// member that has not decided its step (P54, the first of several decides), or a call whose question needs no
// answer any more (P38, an ask sends the question).
func (t *Task) unwanted(def *core.Definition, i int) bool {
	n := def.Serves(i)
	if n < 0 {
		return false
	}
	served := &t.Steps[n]
	if d := &def.Steps[n]; d.Any != nil {
		return served.Passed() && !slices.ContainsFunc(served.Won,
			func(m string) bool { return core.MemberName(d.Name, m) == def.Steps[i].Name })
	}
	return t.Steps[i].State != core.Processed && (served.Passed() || served.Decided())
}

// withdrawUnwanted withdraws the steps that nobody wants any more. It reports whether there were any.
func (r *decision) withdrawUnwanted() (changed bool) {
	for i := range r.t.Steps {
		s := r.step(i)
		if r.t.unwanted(r.def, i) && s.Withdrawn == 0 && s.undoable() {
			s.withdraw(core.CodeOvertaken)
			changed = true
		}
	}
	return changed
}

// withdraw marks a step that is no longer wanted while the task goes forward (P53, a step can be withdrawn). The
// step is then undone alone, as soon as the task goes forward. A step that was not attempted is skipped.
func (s step) withdraw(code string) {
	if !s.Attempted() {
		s.State = core.Skipped
		return
	}
	s.Withdrawn = s.at.Now
	if s.FailureCode == "" {
		s.FailureCode = code
	}
}

// awaitsUndo reports whether the step is withdrawn, and its undo has not begun.
func (s *Step) awaitsUndo() bool { return s.Withdrawn != 0 && s.undoable() }

// undoable reports whether the step's undo could begin: it has not begun, and is not over.
func (s *Step) undoable() bool {
	switch s.State {
	case core.Pending, core.Processing, core.Settling, core.Processed, core.Failed:
		return true
	case core.Waiting:
		return !s.Claim.Undo
	}
	return false
}

// endWithdrawn ends the attempt of a withdrawn step that was not done, without a further attempt.
func (s step) endWithdrawn(outcome core.Outcome, code, message string) {
	s.recordAttempt(outcome, code)
	s.recordFailure(code, message, s.Attempt)
	s.giveUp()
}

// doneWithdrawn records that a withdrawn step was done. So there is something to undo, and nothing else (P15, a
// late "done" counts).
func (s step) doneWithdrawn() {
	s.release()
	s.State = core.UndoWait
	s.NoEffect = 0
}

// goOnWithout lets a task go on without a step that has failed for good (P42, orders can go on after
// failures). Only this step is undone. Later conditions read the step's failure code. The code does not
// change any more (P12, effects are emitted again).
func (s *Step) goOnWithout() {
	s.FailureCode = cmp.Or(s.FailureCode, core.PlainCode(s.Error.Code), core.CodeFailed)
	s.Won = nil
	if !s.Attempted() { // no request was sent, so there is nothing to undo
		s.State = core.Compensated
		return
	}
	s.State = core.UndoWait
}
