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

// answeredBeforeAsk reports whether a predecessor of step i is the call that sends the step's question, and
// the step already has all required answers. The step does not wait for such a call (P36, answers may come
// early, late or twice).
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
