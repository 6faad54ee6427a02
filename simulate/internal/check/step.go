package check

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

func (m *move) step(i int) {
	s := &m.after.Steps[i]
	d := &m.def.Steps[i]
	m.did("12", "13", "14", "16", "17")
	if s.InFlight() != (s.Claim.By != "") {
		m.fail("16", "step %s is %s and locked by %q", s.Name, s.State, s.Claim.By)
	}
	if s.InFlight() {
		key := fmt.Sprintf("%s/%d", s.Name, s.Attempt)
		if was, known := m.o.Seen.Holders[key]; known && was != s.Claim.By {
			m.fail("16", "attempt %d of step %s was locked by %s and is by %s", s.Attempt, s.Name, was,
				s.Claim.By)
		}
		m.o.Seen.Holders[key] = s.Claim.By
	}
	if budget, undoBudget := m.budgets(s.Name); s.Failures.Do > budget || s.Failures.Undo > undoBudget {
		m.fail("12", "step %s has %d failures and %d of its undo", s.Name, s.Failures.Do, s.Failures.Undo)
	}
	if m.before == nil {
		return
	}
	was := m.was(s.Name)
	m.failures(was, s, d)
	m.held(was, s, d)
	if d.Wait != nil && m.before.Definition == m.after.Definition {
		m.wait(was, s)
	}
	if d.Answer != nil {
		m.answers(was, s)
	}
	if d.Fail != nil {
		m.did("P50")
		m.rule(i, was)
	}
	if d.OnFailure == core.OnFailureContinue {
		m.goesOn(was, s)
	}
	m.progressed(was, s)
	m.reminded(was, s, d)
	if s.Attempt < was.Attempt {
		m.fail("14", "the attempt of step %s went from %d to %d", s.Name, was.Attempt, s.Attempt)
	}
	if m.supervisor {
		m.bySupervisor(was, s)
	}
	if s.Attempt > was.Attempt {
		m.claimed(was, s, d)
		m.needed(s.Name)
	}
}

// failures checks the counted failures of a step (invariants 12 and 13; P32, queue time is not a failure).
func (m *move) failures(was, s *protocol.Step, d *core.StepDefinition) {
	if !m.commanded && (s.Failures.Do < was.Failures.Do || s.Failures.Undo < was.Failures.Undo) {
		m.fail("12", "step %s forgot failures", s.Name)
	}
	m.o.Seen.Counted[s.Name] += max(0, s.Failures.Do-was.Failures.Do) +
		max(0, s.Failures.Undo-was.Failures.Undo)
	if n := m.o.Seen.Counted[s.Name]; n > s.Attempt {
		m.fail("13", "step %s has counted %d failures in %d attempts", s.Name, n, s.Attempt)
	}
	if s.Failures.Do > was.Failures.Do && m.notNow(s.Name) {
		m.fail("P45", "step %s was not called, and that counts as failure %d", s.Name, s.Failures.Do)
	}
	m.did("P32")
	if s.Failures.Queued > was.Failures.Queued && s.Failures.Queued >= d.MaxQueueTime &&
		m.after.ProcessState != core.Error {
		m.fail("P32", "step %s has waited for %s in queues, %s is the most, and the operator was not alerted",
			s.Name, s.Failures.Queued, d.MaxQueueTime)
	}
}

// notNow reports whether the commit follows only from replies that a step cannot be called now (P45, "not now"
// is not a failure).
func (m *move) notNow(step string) bool {
	all := events(m.w.Cur, m.after.OrderID)
	for _, ev := range all {
		if r, ok := ev.(*message.Reply); !ok || r.Step != step || failure(r) || r.Outcome == core.OutcomeDone {
			return false
		}
	}
	return len(all) > 0 && !m.w.Cur.TooBig[m.after.OrderID]
}

// rule checks a step that fails by a rule. Such a step is never claimed. It fails with the code of the rule, or
// because its condition cannot be evaluated (P50, a rule can fail the order).
func (m *move) rule(i int, was *protocol.Step) {
	s := &m.after.Steps[i]
	d := &m.def.Steps[i]
	byRule := s.Error != nil && (s.Error.Code == d.Fail.Code || s.Error.Code == "expression" && d.When != "")
	if s.Attempt > 0 && was.Attempt == 0 || s.State == core.Failed && !byRule {
		m.fail("P50", "step %s fails by the rule %s, and is %s in attempt %d with %v", s.Name, d.Fail.Code,
			s.State, s.Attempt, s.Error)
	}
}

// needed checks that the claimed step does not ask a question that already has an answer (P38, an ask sends
// the question).
func (m *move) needed(call string) {
	for i := range m.def.Steps {
		d := &m.def.Steps[i]
		if d.Answer == nil || d.Answer.Ask != call || m.before.Run != m.after.Run ||
			m.before.Definition != m.after.Definition {
			continue
		}
		m.did("P38")
		if s := m.before.Step(d.Name); passed(s) || s.Output != nil {
			m.fail("P38", "%s is claimed, and step %s was %s", call, d.Name, s.State)
		}
	}
}

// held checks a step that was handed back without a counted failure (P45, "not now" is not a failure). The
// next attempt must come at least 2 s later. The total time without a counted failure must stay below
// maxQueueTime or pollFor.
func (m *move) held(was, s *protocol.Step, d *core.StepDefinition) {
	if s.Error == nil || s.Error.Since == 0 || !was.InFlight() || s.InFlight() {
		return
	}
	m.did("P45")
	switch {
	case s.Failures.Do > was.Failures.Do || s.Failures.Undo > was.Failures.Undo:
		m.fail("P45", "step %s was not called (%s), and that counts as a failure", s.Name, s.Error.Code)
	case m.after.ProcessState != core.Error && s.Wait.At.Sub(s.Error.At) < 2*core.Second:
		// A later event of the same batch may stop the task in Error, which clears the wait (P9, tasks not at
		// rest are due).
		m.fail("P45", "step %s was not called (%s), and is asked again at %s, %s later", s.Name, s.Error.Code,
			s.Wait.At, s.Wait.At.Sub(s.Error.At))
	case s.Error.At.Sub(s.Error.Since) >= longestHold(d, s.Error.Code):
		m.fail("P45", "step %s waits since %s (%s), %s is the most, and no operator was called", s.Name,
			s.Error.Since, s.Error.Code, longestHold(d, s.Error.Code))
	}
}

// progressed checks the times of an attempt that continues (P43, long work reports progress). The stop-by
// must not change. The complete-by must not become earlier. The complete-by must not be after the stop-by.
func (m *move) progressed(was, s *protocol.Step) {
	if !was.InFlight() || !s.InFlight() || was.Attempt != s.Attempt || m.before.Run != m.after.Run {
		return
	}
	m.did("P43")
	if s.Claim.StopBy != was.Claim.StopBy || s.CompleteBy > s.Claim.StopBy || s.CompleteBy < was.CompleteBy {
		m.fail("P43", "step %s had stopBy %s and complete-by %s, and has %s and %s", s.Name, was.Claim.StopBy,
			was.CompleteBy, s.Claim.StopBy, s.CompleteBy)
	}
}

// goesOn checks a step with onFailure: continue. After a failure of the step, the task goes on (P42, orders
// can go on after failures).
func (m *move) goesOn(was, s *protocol.Step) {
	m.did("P42")
	t := m.after
	if m.before.Run == t.Run && was.FailureCode != "" && s.FailureCode != was.FailureCode {
		m.fail("P42", "step %s failed with %s, and reads %q now", s.Name, was.FailureCode, s.FailureCode)
	}
	switch {
	case t.ProcessState == core.Processing && s.State == core.Failed:
		m.fail("P42", "step %s is Failed while the task goes forward", s.Name)
	case (t.ProcessState == core.Processing || t.ProcessState == core.Processed) &&
		s.Withdrawn == 0 && (s.FailureCode == "") != (s.State != core.Compensated && s.State != core.Compensating &&
		s.State != core.UndoWait && (s.State != core.Waiting || !s.Claim.Undo)):
		m.fail("P42", "step %s is %s, and its failure is %q", s.Name, s.State, s.FailureCode)
	case t.ProcessState == core.Processed && s.State != core.Compensated && s.State != core.Processed &&
		s.State != core.Skipped:
		m.fail("P42", "the task is Processed with step %s %s", s.Name, s.State)
	}
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

// waitsFor checks the claim of a step. If a predecessor of the step has failed, the predecessor's undo must
// have ended before the claim (P42).
func (m *move) waitsFor(s *protocol.Step, d *core.StepDefinition) {
	for _, name := range d.After {
		if o := m.after.Step(name); o.FailureCode != "" && o.Withdrawn == 0 && o.State != core.Compensated {
			m.fail("P42", "step %s is claimed while %s, which failed, is %s", s.Name, o.Name, o.State)
		}
	}
}

func (m *move) bySupervisor(was, s *protocol.Step) {
	m.did("P16")
	if s.Attempt != was.Attempt {
		m.fail("P16", "the Supervisor claimed step %s", s.Name)
	}
	t := m.after
	undoing := t.ProcessState != core.Processing && (t.ProcessState != core.Error || t.Phase == core.Undoing)
	done := was.State == core.Processed || was.State == core.Settling
	undone := undoing && done && (s.State == core.UndoWait || s.State == core.Compensated)
	if passed(was) && s.State != was.State && !undone {
		m.fail("17", "the Supervisor took step %s from %s to %s", s.Name, was.State, s.State)
	}
}

func (m *move) claimed(was, s *protocol.Step, d *core.StepDefinition) {
	t := m.after
	b := m.before
	again := (was.State == core.UndoWait || was.Claim.Undo == s.Claim.Undo) && t.Run == b.Run
	uncalled := was.Error != nil && was.Error.Since != 0 // its agent may be able to call earlier than expected
	if again && !uncalled && !m.commanded && !m.several() && s.Claim.At < was.Wait.At {
		m.fail("P9a", "step %s is claimed at %s, and its wait ends at %s", s.Name, s.Claim.At, was.Wait.At)
	}
	if !s.Claim.Undo && b.ProcessState == core.Compensating && t.ProcessState == core.Compensating &&
		t.Run == b.Run && !m.commanded {
		m.fail("P20", "step %s is claimed forward while the task compensates", s.Name)
	}
	if was.First.Nth == 0 && !s.Claim.Undo {
		m.waitsFor(s, d)
	}
	if !s.Claim.Undo || s.State != core.Compensating {
		return
	}
	alone := m.undoneAlone(s)
	if alone {
		m.o.Seen.Alone[fmt.Sprintf("%s/%d", s.Name, s.Attempt)] = true
	}
	m.did("9", "P9a")
	for i := range t.Steps {
		if alone {
			break
		}
		if o := &t.Steps[i]; o.First.Nth > s.First.Nth && o.State != core.Compensated {
			m.fail("9", "step %s is undone while %s, claimed later, is %s", s.Name, o.Name, o.State)
		}
	}
}
