package protocol

import (
	"cmp"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

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
