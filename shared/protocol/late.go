package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// setLate sets the deadline of a step that counts from the given time, or removes it if the definition has none (P58,
// a step has a deadline).
func (s *Step) setLate(d *core.StepDefinition, from core.Time) {
	s.Late.At = 0
	if d.Deadline > 0 {
		s.Late = Late{At: from.Add(d.Deadline), Seq: s.Late.Seq + 1}
	}
}

// moveLate sets another deadline of the step in a Move. It counts from where the earlier one did: from the first claim,
// or from a Resubmit.
func (s *Step) moveLate(from, to *core.StepDefinition) {
	if from.Deadline == to.Deadline {
		return
	}
	since := s.FirstClaim()
	if s.Late.At != 0 {
		since = s.Late.At.Add(-from.Deadline)
	}
	s.setLate(to, since)
}

// LateAt returns the deadline of a step that goes forward, or zero.
func (s *Step) LateAt() core.Time {
	if !s.goesForward() {
		return 0
	}
	return s.Late.At
}

// late applies the policy of a step whose deadline has passed. It counts no failure. A reply that is committed before
// it wins, and one that comes after it is undone.
func (s step) late(ev core.Event) (string, error) {
	switch {
	case ev.(core.StepLate).Seq != s.Late.Seq || s.LateAt() == 0:
		return "the step has another deadline now, or none", nil
	case !s.Late.At.Passed(s.at.Now):
		return notYet, nil
	}
	s.recordFailure(core.CodeLate, "the deadline of the step has passed", s.Attempt)
	switch {
	case s.d.OnDeadline == core.OnFailureContinue:
		s.Won = nil
		s.withdraw(core.CodeLate)
	case s.d.OnDeadline == core.OnFailureStop || s.t.PastPointOfNoReturn(s.def):
		if s.HandedBack() {
			s.giveUp()
		}
		s.enterError()
	default:
		s.t.compensate(WhyFailure)
		s.t.Reason = s.FailureReason()
	}
	return "", nil
}
