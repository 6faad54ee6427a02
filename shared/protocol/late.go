package protocol

import (
	"bytes"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// noDeadline is the error of an absolute deadline that cannot be computed.
type noDeadline struct{ error }

// readDeadline evaluates the absolute deadline of a step that is first claimed at the given time. It returns zero if
// the step has none. A time that has passed makes the step late at the next sweep.
func (s step) readDeadline(claimed core.Time) (core.Time, error) {
	if s.d.DeadlineAt == nil || !s.orderKnown() {
		return 0, nil
	}
	text, err := s.def.Expr.Value(core.PartDeadline, s.i, s.environment(false))
	at := core.Time(0)
	if err == nil {
		at, err = readEnd("the time", text, claimed)
	}
	if err != nil {
		return 0, &noDeadline{fmt.Errorf("deadline: %w", err)}
	}
	return at, nil
}

// setLate sets the deadline of a step that counts from the given time, or removes it if the definition has none (P58,
// a step has a deadline). An absolute one does not count from a time: it stays, unless it has passed.
func (s *Step) setLate(d *core.StepDefinition, from core.Time) {
	switch {
	case d.Deadline > 0:
		s.Late = Late{At: from.Add(d.Deadline), Seq: s.Late.Seq + 1}
	case d.DeadlineAt == nil || s.Late.At.Passed(from):
		s.Late.At = 0
	}
}

// moveLate sets another deadline of the step in a Move. It counts from where the earlier one did: from the first claim,
// or from a Resubmit. The decision evaluates one that is absolute.
func (s *Step) moveLate(from, to *core.StepDefinition) {
	if sameDeadline(from, to) {
		return
	}
	since := s.FirstClaim()
	if s.Late.At != 0 && from.Deadline > 0 {
		since = s.Late.At.Add(-from.Deadline)
	}
	s.setLate(to, since)
}

func sameDeadline(a, n *core.StepDefinition) bool {
	return a.Deadline == n.Deadline && bytes.Equal(a.DeadlineAt, n.DeadlineAt)
}

// evaluateLate evaluates the absolute deadline that a Move has given to the step. One that goes forward no more in
// this run has no deadline.
func (s step) evaluateLate(from *core.StepDefinition) error {
	if s.d.DeadlineAt == nil || !s.Attempted() || s.Passed() || sameDeadline(from, s.d) {
		return nil
	}
	at, err := s.readDeadline(s.FirstClaim())
	if err == nil && s.err == nil {
		s.Late = Late{At: at, Seq: s.Late.Seq + 1}
	}
	return err
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
