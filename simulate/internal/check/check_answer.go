package check

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
)

// passed checks the decision of a child by an answer that its parent has passed on (invariant 26). One child takes it,
// and a child that began with an answer does not wait in vain.
func (m *move) passed(s *protocol.Step) {
	d, decided := decidedOf(s)
	if m.before != nil {
		if _, before := decidedOf(m.was(s.Name)); before {
			return
		}
	}
	if m.after.Parent == nil || !decided {
		return
	}
	parent := m.w.ByID[m.after.Parent.OrderID]
	if parent == nil {
		return
	}
	m.did("26")
	taker := fmt.Sprintf("%s, run %d", m.after.OrderID, m.after.Run)
	switch other := parent.Seen.Passed[string(d.Value)]; {
	case d.By == workflows.Passer && other != "" && other != taker:
		m.fail("26", "it takes the answer %s, which %s has taken", d.Value, other)
	case d.By == workflows.Passer:
		parent.Seen.Passed[string(d.Value)] = taker
	case d.By == protocol.ByTimeout && m.after.Run == 0 && m.w.Room.Limit == 0 &&
		parent.Seen.Carried[m.after.OrderID] > s.Answers.Refused:
		m.fail("26", "step %s has waited in vain, and the order began with %d answers", s.Name,
			parent.Seen.Carried[m.after.OrderID])
	}
}
