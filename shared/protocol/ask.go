package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// answeredEarly reports whether answers that came before the claim already decide the step. The call that
// sends the question then need not finish (P36, answers may come early, late or twice).
func (r *deciding) answeredEarly(i int) bool {
	if a := r.t.Steps[i].Answers; a == nil || len(a.Votes) == 0 {
		return false
	}
	p, err := r.kind(i).prepare(r, i)
	return err == nil && p.atOnce
}

// withdraw ends the call of a question whose answer has come. Such a call needs no undo.
func (r *deciding) withdraw(i int) {
	s := &r.t.Steps[i]
	r.recordFailure(i, core.CodeOvertaken, "the answer came before it was asked for again", s.Attempt)
	s.FailureCode = core.CodeOvertaken
	undone(s)
}
