package protocol

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// anyKind is the kind of a step that ends when the first of its members have ended (P54, the first of several
// decides). It is Waiting from its claim to its decision, and has no time of its own. Its members are claimed
// after it.
type anyKind struct{}

func (anyKind) prepare(step) (prepared, error) { return prepared{atOnce: true}, nil }

func (anyKind) start(s step, _ prepared) { s.take(core.Waiting, Claim{}) }

func (anyKind) resend(step) {}

// goOn ends a decided step once nothing of its members is left to undo.
func (anyKind) goOn(s step) {
	if s.State == core.Settling && !slices.ContainsFunc(s.def.Members(s.i), s.unsettled) {
		s.State = core.Processed
	}
}

func (s step) unsettled(member int) bool { return !s.t.Steps[member].Passed() }

// decideAny decides the steps of which enough members have ended well, fails those of which too few still can, and
// withdraws the steps that nobody wants any more. It reports whether it has changed a step. An end that comes while
// the task is in Error decides too, so that no more members than needed end well. The Supervisor only fails steps.
func (r *decision) decideAny() (changed bool) {
	for i := range r.t.Steps {
		s := r.step(i)
		if s.d.Any == nil || s.State != core.Waiting || s.Withdrawn != 0 {
			continue
		}
		if !r.bySupervisor() {
			s.countWinners()
		}
		if s.State == core.Waiting && r.t.ProcessState == core.Processing {
			s.failIfNoneLeft()
		}
		changed = changed || s.State != core.Waiting
	}
	return !r.bySupervisor() && r.withdrawUnwanted() || changed
}

// countWinners stores the members that have ended well, in the order in which they did. If they are enough, the
// step is decided. It is then Settling, and the steps after it begin.
func (s step) countWinners() {
	for n, i := range s.def.Members(s.i) {
		name := s.d.Any.Members[n]
		if s.t.Steps[i].endedWell() && !slices.Contains(s.Won, name) {
			s.Won = append(slices.Clip(s.Won), name)
		}
	}
	if len(s.Won) < s.d.Any.Enough {
		return
	}
	s.Won = s.Won[:s.d.Any.Enough]
	s.finish(nil)
	s.State = core.Settling
}

func (s *Step) endedWell() bool {
	return (s.State == core.Processed || s.State == core.Settling) && s.Withdrawn == 0
}

// failIfNoneLeft fails the step if fewer members than it needs have ended well, or still can.
func (s step) failIfNoneLeft() {
	left := 0
	last := ""
	lastAt := core.Time(0)
	for n, i := range s.def.Members(s.i) {
		m := &s.t.Steps[i]
		switch {
		case m.endedWell() || m.canEndWell():
			left++
		case m.Error != nil && m.Error.At >= lastAt:
			lastAt = m.Error.At
			last = fmt.Sprintf("; the last failure that is known is of %s, %s: %s", s.d.Any.Members[n],
				core.PlainCode(m.Error.Code), m.Error.Message)
		}
	}
	if left < s.d.Any.Enough {
		s.fail(core.CodeNoneLeft, fmt.Sprintf("%d of its members can still end well, and it needs %d%s", left,
			s.d.Any.Enough, last), s.Attempt)
	}
}

// canEndWell reports whether a member that has not ended may still end well.
func (s *Step) canEndWell() bool {
	switch s.State {
	case core.Pending, core.Processing:
		return s.Withdrawn == 0
	case core.Waiting:
		return s.Withdrawn == 0 && !s.Claim.Undo
	}
	return false
}
