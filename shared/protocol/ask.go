package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// answeredEarly reports whether answers that came before the claim already decide the step. The call that
// sends the question then need not finish (P36, answers may come early, late or twice).
func (s step) answeredEarly() bool {
	if a := s.Answers; a == nil || len(a.Votes) == 0 {
		return false
	}
	p, err := s.kind().prepare(s)
	return err == nil && p.atOnce
}

// withdraw ends the call of a question whose answer has come. Such a call needs no undo.
func (s step) withdraw() {
	s.recordFailure(core.CodeOvertaken, "the answer came before it was asked for again", s.Attempt)
	s.FailureCode = core.CodeOvertaken
	s.undone()
}
