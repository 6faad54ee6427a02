package model

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// askFor returns the step whose question a call sends, or nil for any other call (P38, an ask sends the
// question).
func (m *Model) askFor(call string) *core.Step {
	for i := range m.Def.Steps {
		if a := m.Def.Steps[i].Answer; a != nil && a.Ask == call {
			return &m.T.Steps[i]
		}
	}
	return nil
}

// needless reports whether a call asks for the answer of a step that is decided already (P38).
func (m *Model) needless(call string) bool {
	s := m.askFor(call)
	return s != nil && (Passed(s) || s.Output != nil)
}

// answeredBeforeAsk reports whether a step already has all needed answers. Such a step is decided at once,
// whatever the outcome of its ask (P36, answers may come early, late or twice).
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
