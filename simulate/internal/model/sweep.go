package model

import (
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Sweep makes all decisions of the Supervisor about one task (P16, the Supervisor hands back and gives up;
// P23a, a deadline stops or undoes the order; P11, an end is reported until settled). It returns the name of
// the last rule that it applied, or "" if nothing is overdue.
func (m *Model) Sweep() (rule string) {
	m.sweeping = true
	t := m.T
	going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
	var steps []int
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.CompleteBy != 0 && s.CompleteBy <= m.Now && (s.InFlight() || going && Waits(s)) {
			steps = append(steps, i)
		}
	}
	late := t.ProcessState == core.Processing && t.Deadline.At != 0 && t.Deadline.At <= m.Now
	unreported := resendTime(t) != 0 && resendTime(t) <= m.Now
	for _, i := range steps {
		if !t.Steps[i].InFlight() && m.Backlog(port.Control) {
			continue // the Wake may still be queued (P32, queue time is not a failure)
		}
		m.overdue(i)
		rule = "P16"
	}
	if late && t.ProcessState == core.Processing {
		m.tooLate()
		rule = "P23a"
	}
	if unreported && m.resend() {
		rule = "P11"
	}
	m.Changed = rule != ""
	return rule
}

func (m *Model) overdue(i int) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	if s.CompleteBy == 0 || s.CompleteBy > m.Now {
		return // an earlier event of this sweep has set a new time
	}
	m.cause = "overdue/" + s.Name + "/" + strconv.Itoa(s.Attempt)
	state := m.T.ProcessState
	switch {
	case s.State == core.Processing && state == core.Processing && s.Claim.Progress == nil &&
		m.queueing(s.AskedAgent(d)),
		s.State == core.Compensating && state != core.Error && m.queueing(s.AskedAgent(d)):
		m.queued(i)
	case s.State == core.Processing && state != core.Processing:
		m.ended(i, core.OutcomeOverdue, core.CodeTimeout)
		m.end(s, core.Failed)
		if state == core.Compensating {
			m.ask(s)
		}
	case s.State == core.Processing:
		m.ended(i, core.OutcomeOverdue, core.CodeTimeout)
		s.Failures.Do++
		if s.Failures.Do < d.Retry.Budget() {
			m.handBack(i, 0)
			return
		}
		m.end(s, core.Failed)
		switch {
		case d.OnFailure == core.OnFailureContinue || m.needless(d.Name):
			m.goOn(i, core.CodeTimeout)
		case d.OnFailure == core.OnFailureStop || m.pastReturn():
			m.stop(core.Forward)
		default:
			m.T.ProcessState, m.T.Undo.Why = core.Compensating, core.WhyFailure
			m.ask(s)
		}
	case s.State == core.Compensating:
		m.ended(i, core.OutcomeOverdue, core.CodeTimeout)
		m.undoFailed(i, 0)
	case state == core.Processing || state == core.Compensating:
		m.ask(s)
	}
}

// ask sends a Wake without a delay. It sets the complete-by of the step to the end of the grace.
func (m *Model) ask(s *core.Step) {
	s.CompleteBy = m.Now.Add(m.Def.Grace)
	m.post('w', s.Name, s.Attempt, 0)
}

// queueing reports whether the request or its reply may still wait in a queue (P32).
func (m *Model) queueing(agent string) bool {
	return m.Backlog(port.Requests(agent)) || m.Backlog(port.Replies)
}

// queued hands a step back without a counted failure, because its request waited in a queue (P32). It stops
// the task if the step has waited for maxQueueTime.
func (m *Model) queued(i int) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	undo := s.State == core.Compensating
	m.ended(i, core.OutcomeOverdue, core.CodeQueue)
	s.Failures.Queued += m.Now.Sub(s.Claim.At)
	s.Claim.Allowance = min(max(s.Claim.Allowance, 1)*2, d.MaxQueueTime-s.Failures.Queued)
	if s.Failures.Queued >= d.MaxQueueTime {
		s.Claim.Allowance = 0
		state := core.Failed
		if undo {
			state = core.UndoWait
		}
		m.end(s, state)
		m.stop(m.direction())
		return
	}
	if !undo {
		m.T.Hops = max(0, m.T.Hops-1)
	}
	m.wait(i, waiting(s), 0, 0)
}

// tooLate applies the order's deadline (P23a).
func (m *Model) tooLate() {
	m.cause = "deadline/" + strconv.Itoa(m.T.Run) + "/" + strconv.Itoa(m.T.Deadline.Seq)
	if m.Def.OnDeadline != core.OnFailureUndo || m.pastReturn() {
		m.stop(core.Forward)
		return
	}
	m.T.ProcessState, m.T.Undo.Why = core.Compensating, core.WhyDeadline
	for i := range m.T.Steps {
		if s := &m.T.Steps[i]; s.State == core.Pending && s.Attempted() || s.State == core.Waiting {
			m.ask(s)
		}
	}
	m.post('w', "", 0, 0)
}
