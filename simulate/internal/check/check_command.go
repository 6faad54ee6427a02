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

// storedBefore returns the index of the verdict with the given ID before the commit, or -1.
func (m *move) storedBefore(id string) int {
	if m.before == nil {
		return -1
	}
	return slices.IndexFunc(m.before.Commands.Verdicts, func(v protocol.Verdict) bool { return v.ID == id })
}

// kept reports whether a verdict was certainly still stored when the commit decided its last command. The
// parameter at is the index of the verdict before the commit. A task keeps only its last eight verdicts.
func (m *move) kept(at int) bool {
	added := m.added()
	return added < 8 && len(m.before.Commands.Verdicts)-at+added-1 <= 8
}

// added returns the number of new verdicts in the committed task. If the number is 8, the commit may have
// added more verdicts and dropped them again.
func (m *move) added() (n int) {
	for _, v := range m.after.Commands.Verdicts {
		if m.before == nil || !slices.Contains(m.before.Commands.Verdicts, v) {
			n++
		}
	}
	return n
}

// verdicts checks the verdicts on commands (P5, commands have a number and an ID; P17, a cancel is kept):
//   - An ID keeps its verdict until eight later verdicts have replaced it.
//   - A copy of a refused command is never accepted.
//   - A refused Cancel stays refused in its run.
//   - The command number grows by one with each accepted command, and by at most two with each refused one, because
//     a refused command can be one ahead.
func (m *move) verdicts() {
	m.did("P5", "P17")
	raises := 0 // bound of the raise of the number
	for _, v := range m.after.Commands.Verdicts {
		was := m.storedBefore(v.ID)
		if was >= 0 && m.before.Commands.Verdicts[was].Accepted != v.Accepted && m.kept(was) {
			m.fail("P5", "command %s was answered %v and now %v", v.ID, !v.Accepted, v.Accepted)
		}
		if was >= 0 && m.before.Commands.Verdicts[was].At == v.At {
			continue
		}
		command := m.commandOf(v.ID)
		accepts, known := m.o.Seen.Verdicts[command]
		if known && !accepts && v.Accepted {
			m.fail("P5", "the refused command %s was accepted later", v.ID)
		}
		if known {
			continue
		}
		m.o.Seen.Verdicts[command] = v.Accepted
		m.commanded = m.commanded || v.Accepted
		if !v.Accepted && v.Command != "cancel" { // a cancel has no number
			raises += 2
		}
		if v.Accepted {
			raises++
			m.current(v)
		}
		if v.Command == "cancel" {
			if v.Accepted && m.o.Seen.Cancels[m.after.Run] && m.before != nil && m.before.Run == m.after.Run {
				m.fail("P17", "a Cancel of run %d was refused before and is accepted now", m.after.Run)
			}
			// A Cancel that was refused after a point of no return may be accepted later. The reason is a
			// proof that the point of no return had no effect (P22a, a proven refusal permits undo).
			if !v.Accepted && m.before != nil && m.before.Run == m.after.Run && !m.ofAnOldRun(v.ID) &&
				(m.after.ProcessState == core.Processed || !PastReturn(m.def, m.after)) {
				m.o.Seen.Cancels[m.after.Run] = true
			}
		}
	}
	was := 0
	if m.before != nil {
		was = m.before.Commands.Number
		// A parent's Resubmit reaches a child order as a message (P41, parent and child talk by messages).
		m.commanded = m.commanded || m.after.Parent != nil && m.after.Run > m.before.Run
		// With eight or more new verdicts, the verdict on the accepted command may be missing.
		if m.added() >= 8 && m.after.Commands.Number > was {
			m.commanded = true
		}
	}
	if d := m.after.Commands.Number - was; d < 0 || m.added() < 8 && d > raises {
		m.fail("P5", "the command number went from %d to %d and the new verdicts raise it by at most %d", was,
			m.after.Commands.Number, raises)
	}
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

// ofAnOldRun reports whether the command names an earlier run. The verdict's reason is not reliable here,
// because a document without enough space omits the reason (P28, what is too large fails once).
func (m *move) ofAnOldRun(id string) bool {
	return slices.ContainsFunc(events(m.w.Cur, m.after.OrderID), func(ev any) bool {
		c, ok := ev.(*message.Control)
		if !ok || c.ID() != id {
			return false
		}
		cancel := core.CommandOf(c.Event)
		return cancel.Name == core.Cancel && cancel.Run < m.after.Run
	})
}
