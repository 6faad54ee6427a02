package check

import (
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Longest returns the longest time in milliseconds that an order may spend in waiting steps, over all
// definitions.
func Longest(all []*core.Definition) (most int64) {
	for _, def := range all {
		sum := int64(0)
		for i := range def.Steps {
			switch d := &def.Steps[i]; {
			case d.Answer != nil:
				sum += int64(d.Timeout)
			case d.Wait == nil:
			case d.Input != nil:
				sum += int64(366*core.Day + d.Wait.Spread)
			default:
				sum += int64(d.Wait.For + d.Wait.Spread)
			}
		}
		most = max(most, sum)
	}
	return most
}

// Outlasts reports whether the phase with faults continues because an order waits. This happens only if
// w.Through is true. The phase then ends ten minutes after the wait.
func Outlasts(w *world.Simulation) bool {
	if !w.Through {
		return false
	}
	for _, o := range w.AllOrders {
		t := w.Store.Task(o.Id)
		if t == nil || t.ProcessState != core.Processing {
			continue
		}
		for i := range t.Steps {
			if s := &t.Steps[i]; s.State == core.Waiting && s.Children == nil {
				w.Until = max(w.Until, int64(s.Wait.At)-w.Start+10*60_000)
			}
		}
	}
	return w.Now <= w.Until
}

// wait checks a step with a wait at every commit (P33, a waiting step asks no agent; P34, a wait ends at a
// fixed time).
func (m *move) wait(was, s *protocol.Step) {
	t := m.after
	seen := &m.o.Seen
	m.did("P33")
	switch {
	case s.InFlight() || s.State == core.UndoWait:
		m.fail("P33", "step %s waits and is %s, as if an agent were asked", s.Name, s.State)
	case s.Failures.Do > 0 || s.Failures.Undo > 0:
		m.fail("P33", "step %s waits, and has %d failures and %d of its undo", s.Name, s.Failures.Do,
			s.Failures.Undo)
	case s.State == core.Waiting && t.Terminal() && t.ProcessState != core.Closed:
		m.fail("P33", "the order is %s, and step %s still waits", t.ProcessState, s.Name)
	case s.State == core.Waiting && (t.ProcessState == core.Processing ||
		t.ProcessState == core.Compensating) && s.CompleteBy == 0 && !m.undecided(was):
		m.fail("P33", "step %s waits, and has no time at which the Supervisor looks at it", s.Name)
	}
	claim := s.Name + "/" + strconv.Itoa(s.Attempt)
	if s.State == core.Waiting {
		if at, known := seen.Wakes[claim]; known && s.Wait.At != at && s.Wait.At != 0 {
			m.fail("P34", "step %s, attempt %d, was to wait until %s, and waits until %s", s.Name, s.Attempt,
				at, s.Wait.At)
		} else if !known {
			seen.Wakes[claim] = s.Wait.At
		}
	}
	if was.State != core.Waiting || s.State != core.Processed || s.Attempt != was.Attempt {
		return
	}
	if s.Resolved != nil && s.Resolved.Fact == core.Happened && s.Resolved.At == s.Finish.At {
		return // the operator ended the wait
	}
	m.did("P34")
	at, known := seen.Wakes[claim]
	if !known { // no earlier check saw the claim, such as a claim in the order's first commit
		at = was.Wait.At
	}
	switch {
	case s.Finish.At < at:
		m.fail("P34", "step %s ended at %s, and waits until %s", s.Name, s.Finish.At, at)
	case core.Time(m.w.Start+m.w.Now+m.w.Skew()) < at:
		m.fail("P34", "step %s ended at %s by the true time, and waits until %s", s.Name,
			core.Time(m.w.Start+m.w.Now), at)
	case m.w.Quiescing && m.w.Driver == nil && m.before.ProcessState == core.Processing:
		// A Resubmit can end the wait of a task that was not Processing. The time of such an end has no
		// bound.
		m.prompt(s, at)
	}
}

// undecided reports whether a waiting step may lack a complete-by because its task went from Error to
// Compensating. A step of a task in Error has no complete-by, and a later commit undoes the step.
func (m *move) undecided(was *protocol.Step) bool {
	return m.after.ProcessState == core.Compensating && was.CompleteBy == 0
}

// prompt checks that a wait ends soon after its end time when no faults occur (P34). If the Wake does not end
// the wait within the definition's grace, the next sweep must end the wait.
func (m *move) prompt(s *protocol.Step, at core.Time) {
	since := max(int64(at)-m.w.Start, m.w.QuiescedAt, m.o.Seen.ForwardAt)
	// The bound leaves time for the lease or the message of a dead process to expire.
	if late := m.w.Now - since - int64(m.def.Grace); late > 2*(world.Tick+world.Visibility) {
		m.fail("P34", "step %s was to wait until %s, and ended %d ms after it could have, without faults",
			s.Name, at, late)
	}
}
