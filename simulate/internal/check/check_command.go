package check

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// commandOf returns the content of the command with the given ID. If the handler has received no such
// command, commandOf returns the ID.
func (m *move) commandOf(id string) string {
	for _, ev := range events(m.w.Cur, m.after.OrderID) {
		if c, ok := ev.(*message.Control); ok && c.ID() == id {
			return fmt.Sprint(c.Event)
		}
	}
	return id
}

// verdicts checks that a copy of a refused command is never accepted, and that the command number only grows (P5,
// commands have a number and an ID).
func (m *move) verdicts() {
	m.did("P5")
	added := 0
	for _, v := range m.after.Commands.Verdicts {
		if m.before != nil && slices.ContainsFunc(m.before.Commands.Verdicts,
			func(was protocol.Verdict) bool { return was.ID == v.ID && was.At == v.At }) {
			continue
		}
		added++
		command := m.commandOf(v.ID)
		accepted, known := m.o.Seen.Verdicts[command]
		if known && !accepted && v.Accepted {
			m.fail("P5", "the refused command %s was accepted later", v.ID)
		}
		if known {
			continue
		}
		m.o.Seen.Verdicts[command] = v.Accepted
		if v.Accepted {
			m.commanded = true
			m.current(v)
		}
	}
	if m.before == nil {
		return
	}
	was := m.before.Commands.Number
	if m.after.Commands.Number < was {
		m.fail("P5", "the command number went from %d to %d", was, m.after.Commands.Number)
	}
	// A parent's Resubmit reaches a child order as a message (P41, parent and child talk by messages). With
	// eight or more new verdicts, the verdict on the accepted command may be missing.
	m.commanded = m.commanded || m.after.Parent != nil && m.after.Run > m.before.Run ||
		added >= 8 && m.after.Commands.Number > was
}

// current checks that an accepted command was sent for the state that it changes (P5, commands have a number
// and an ID), and that a Resubmit sets no deadline that has passed (P18, resubmit uses a remembered key).
func (m *move) current(v protocol.Verdict) {
	if m.before == nil || m.several() {
		return
	}
	for _, ev := range events(m.w.Cur, m.after.OrderID) {
		c, ok := ev.(*message.Control)
		if !ok {
			continue
		}
		if n := core.CommandOf(c.Event).Number; v.Command != "cancel" && n != m.before.Commands.Number {
			m.fail("P5", "command %s (%s) is accepted with the number %d, and the order has %d", v.ID, v.Command,
				n, m.before.Commands.Number)
		}
		if e := core.CommandOf(c.Event); e.Name == core.Resubmit && e.Deadline != 0 && e.Deadline <= v.At {
			m.fail("P18", "a Resubmit is accepted at %s, and sets the deadline %s", v.At, e.Deadline)
		}
	}
}
