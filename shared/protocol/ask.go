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

// group returns the Any that the step is a member of, or that the question is a member of that the step sends. It
// returns -1 for every other step.
func (s step) group() int {
	if n := s.def.Serves(s.i); n >= 0 && s.def.Steps[n].Answer != nil {
		return s.def.MemberOf(n)
	}
	return s.def.MemberOf(s.i)
}

// staysFailed reports whether a Failed step waits for its Any, which stops the task if none is left (P54, the first
// of several decides). A Resubmit then asks it again.
func (s step) staysFailed() bool {
	return s.group() >= 0 && s.d.OnFailure == core.OnFailureStop && s.Withdrawn == 0 && !s.t.unwanted(s.def, s.i)
}

// failQuestion fails a member whose question could not be sent.
func (s step) failQuestion() {
	n := s.def.Serves(s.i)
	if n < 0 || s.group() < 0 || s.def.Steps[n].Answer == nil {
		return
	}
	if q := s.decision.step(n); q.State == core.Pending && !q.Attempted() {
		q.Error = s.Error
		q.State = core.Failed
	}
}
