package simulate

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

func (m *move) step(i int) {
	s := &m.after.Steps[i]
	d := &m.def.Steps[i]
	m.never(s.InFlight() != (s.Claim.By != ""), "16", "step %s is %s and locked by %q", s.Name, s.State, s.Claim.By)
	if s.InFlight() {
		key := fmt.Sprintf("%s/%d", s.Name, s.Attempt)
		was, known := m.o.Seen.Holders[key]
		m.never(known && was != s.Claim.By,
			"16", "attempt %d of step %s was locked by %s and is by %s", s.Attempt, s.Name, was, s.Claim.By)
		m.o.Seen.Holders[key] = s.Claim.By
	}
	budget, undoBudget := m.budgets(s.Name)
	m.never(s.Failures.Do > budget || s.Failures.Undo > undoBudget,
		"12", "step %s has %d failures and %d of its undo", s.Name, s.Failures.Do, s.Failures.Undo)
	if d.OnFailure == core.OnFailureContinue {
		// A withdrawn step may still end well, and is then undone (P53, a step can be withdrawn).
		m.never(s.State == core.Processed && s.FailureCode != "" && s.Withdrawn == 0,
			"P42", "step %s is Processed, and its failure is %q", s.Name, s.FailureCode)
	}
	if m.before == nil {
		return
	}
	was := m.was(s.Name)
	m.failures(was, s, d)
	m.reminded(was, s, d)
	m.never(s.Attempt < was.Attempt,
		"14", "the attempt of step %s went from %d to %d", s.Name, was.Attempt, s.Attempt)
	if m.supervisor {
		m.bySupervisor(was, s)
	}
	if s.Attempt > was.Attempt {
		m.claimed(s)
	}
}

// failures checks the counted failures of a step (invariants 12 and 13; P32, queue time is not a failure).
func (m *move) failures(was, s *protocol.Step, d *core.StepDefinition) {
	// A parent that undoes its child after the child's end acts as an operator does.
	ended := m.before.ProcessState == core.Error || m.before.ProcessState == core.Processed
	byParent := m.after.Parent != nil && ended && m.after.Undo.Why == protocol.WhyParent
	m.never(!m.commanded && (s.Failures.Do < was.Failures.Do || !byParent && s.Failures.Undo < was.Failures.Undo),
		"12", "step %s forgot failures", s.Name)
	m.o.Seen.Counted[s.Name] += max(0, s.Failures.Do-was.Failures.Do) +
		max(0, s.Failures.Undo-was.Failures.Undo)
	n := m.o.Seen.Counted[s.Name]
	m.never(n > s.Attempt, "13", "step %s has counted %d failures in %d attempts", s.Name, n, s.Attempt)
	longer := s.Failures.Queued > was.Failures.Queued
	m.never(longer && s.Failures.Queued >= d.MaxQueueTime && m.after.ProcessState != core.Error, "P32",
		"step %s has waited for %s in queues, %s is the most, and the operator was not alerted", s.Name,
		s.Failures.Queued, d.MaxQueueTime)
}

// undoneAlone reports whether the step is undone while the task goes forward (P42). The sequence of undos
// does not apply to such a step. For the commit that has begun the undo of the task the result is true, because the
// undo of the step may have begun before.
func (m *move) undoneAlone(s *protocol.Step) bool {
	t := m.after
	b := m.before
	switch {
	case s.FailureCode == "":
		return false
	case t.ProcessState == core.Error: // the task stopped after the claim
		return t.Phase == core.Forward
	case t.ProcessState == core.Compensating:
		// In the decision that begins the undo of the task, the undo of a step alone may have begun before.
		return b.ProcessState != core.Compensating
	}
	return true
}

func (m *move) bySupervisor(was, s *protocol.Step) {
	m.never(s.Attempt != was.Attempt, "P16", "the Supervisor claimed step %s", s.Name)
	t := m.after
	undoing := t.ProcessState != core.Processing && (t.ProcessState != core.Error || t.Phase == core.Undoing)
	done := was.State == core.Processed || was.State == core.Settling
	undone := undoing && done && (s.State == core.UndoWait || s.State == core.Compensated)
	m.never(passed(was) && s.State != was.State && !undone,
		"17", "the Supervisor took step %s from %s to %s", s.Name, was.State, s.State)
}

// claimed checks the claim of an undo: it runs in the reverse order of the first claims (invariant 9).
func (m *move) claimed(s *protocol.Step) {
	t := m.after
	if !s.Claim.Undo || s.State != core.Compensating {
		return
	}
	alone := m.undoneAlone(s)
	if alone {
		m.o.Seen.Alone[fmt.Sprintf("%s/%d", s.Name, s.Attempt)] = true
	}
	for i := range t.Steps {
		o := &t.Steps[i]
		m.never(!alone && o.First.Nth > s.First.Nth && o.State != core.Compensated,
			"9", "step %s is undone while %s, claimed later, is %s", s.Name, o.Name, o.State)
	}
}

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
	added := 0
	for _, v := range m.after.Commands.Verdicts {
		if m.before != nil && slices.ContainsFunc(m.before.Commands.Verdicts,
			func(was protocol.Verdict) bool { return was.ID == v.ID && was.At == v.At }) {
			continue
		}
		added++
		command := m.commandOf(v.ID)
		accepted, known := m.o.Seen.Verdicts[command]
		m.never(known && !accepted && v.Accepted, "P5", "the refused command %s was accepted later", v.ID)
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
	m.never(m.after.Commands.Number < was,
		"P5", "the command number went from %d to %d", was, m.after.Commands.Number)
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
		e := core.CommandOf(c.Event)
		m.never(v.Command != "cancel" && e.Number != m.before.Commands.Number, "P5",
			"command %s (%s) is accepted with the number %d, and the order has %d", v.ID, v.Command, e.Number,
			m.before.Commands.Number)
		m.never(e.Name == core.Resubmit && e.Deadline != 0 && e.Deadline <= v.At,
			"P18", "a Resubmit is accepted at %s, and sets the deadline %s", v.At, e.Deadline)
	}
}
