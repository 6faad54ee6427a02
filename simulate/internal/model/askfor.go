package model

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// askFor returns the step whose question the call asks, or nil if the call asks no question (P38, an ask
// sends the question).
func (m *Model) askFor(call string) *core.Step {
	for i := range m.Def.Steps {
		if a := m.Def.Steps[i].Answer; a != nil && a.Ask == call {
			return &m.T.Steps[i]
		}
	}
	return nil
}

// needless reports whether the call asks the question of a step that has ended or has a decision (P38).
func (m *Model) needless(call string) bool {
	s := m.askFor(call)
	return s != nil && (Passed(s) || s.Output != nil)
}

// answeredBeforeAsk reports whether the step named before sends the question of step i, and step i already
// has all required answers. Step i then does not wait for the step named before (P36, answers may come early,
// late or twice).
func (m *Model) answeredBeforeAsk(i int, before string) bool {
	if a := m.Def.Steps[i].Answer; a == nil || a.Ask != before {
		return false
	}
	a, _, ok := m.asked(i)
	if !ok {
		return false
	}
	_, whole := wholeNeed(a)
	return whole
}
