package model

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// askFor is the step that a call asks for; nil of any other step (P38, an ask sends the question).
func (m *Model) askFor(call string) *core.Step {
	for i := range m.Def.Steps {
		if a := m.Def.Steps[i].Answer; a != nil && a.Ask == call {
			return &m.T.Steps[i]
		}
	}
	return nil
}

// needless reports an ask whose step is decided (P38).
func (m *Model) needless(call string) bool {
	s := m.askFor(call)
	return s != nil && (Passed(s) || s.Output != nil)
}

// answeredBeforeAsk reports whether the need of a step is complete already. Such a step is decided at once,
// whatever becomes of the ask (P36, answers may come early, late or twice).
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
