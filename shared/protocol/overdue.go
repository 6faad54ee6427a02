package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const notYet = "its time has not passed"

// overdue handles a step whose complete-by time, or the time of whose reminder, has passed (P16, the Supervisor hands
// back and gives up). If no reply came in time, the attempt counts as failed. A step that waits or reminds gets the
// Wake that was lost, or that was too far ahead for a message, and its wait does not move.
func (s step) overdue(ev core.Event) (string, error) {
	e := ev.(core.Overdue)
	counts := s.t.ProcessState == core.Processing || s.Claim.Undo && s.t.ProcessState != core.Error
	text := core.TimeoutText
	if s.Claim.Undo {
		text = "no reply to the undo by the complete-by time"
	}
	reminds := s.wakeToRemind()
	switch {
	case !s.CompleteBy.Passed(s.at.Now) && reminds:
	case !s.CompleteBy.Passed(s.at.Now):
		return notYet, nil
	case !s.InFlight() && reminds: // one Wake is enough
		s.CompleteBy = s.Reminded.Next
	case !s.InFlight():
		s.wakeNow()
	case s.Withdrawn != 0 && !s.Claim.Undo:
		s.endWithdrawn(OutcomeOverdue, core.CodeTimeout, text)
	case counts && e.Queue != core.QueueClear:
		s.backlog(e.Queue)
	default:
		s.recordAttempt(OutcomeOverdue, core.CodeTimeout)
		s.recordFailure(core.CodeTimeout, text, e.Attempt)
		s.retry(0)
	}
	return "", nil
}

// claimLater leaves the claim of an undo to the Scheduler (P16, the Supervisor hands back and gives up). It does
// nothing if a Wake is on its way.
func (s step) claimLater() {
	if s.AwaitsWake() && s.CompleteBy > s.at.Now && s.CompleteBy <= s.at.Now.Add(s.def.Grace) {
		return
	}
	if s.State != core.Waiting {
		s.recordAttempt(OutcomeSuperseded, "")
		s.release()
		s.State = core.UndoWait
	}
	s.wakeNow()
}

// wakeNow wakes the Scheduler for a step at once. It also sets the time at which the Supervisor sends a new
// Wake.
func (s step) wakeNow() {
	s.CompleteBy = s.at.Now.Add(s.def.Grace)
	s.wake(0)
}

// backlog hands a step back without counting a failure (P32, queue time is not a failure). If the request most
// likely still waits in a queue, backlog doubles the allowance, up to the rest of maxQueueTime, so that the next
// request can wait longer. A restart, and a reply that waits, say nothing about how long a request waits. After
// maxQueueTime in total, the task stops for the operator. The time after completeBy does not count: then the machine
// slept, or nothing ran.
func (s step) backlog(queue core.QueueState) {
	s.recordAttempt(OutcomeOverdue, core.CodeQueue)
	if s.Claim.Progress == nil { // an agent that reports has the request
		s.Failures.Queued += min(s.at.Now, s.CompleteBy).Sub(s.Claim.At)
	}
	if queue == core.QueueHeld && s.Claim.At >= s.at.QueuesSince {
		s.Claim.Allowance = max(s.Claim.Allowance, 1) * 2
	}
	s.Claim.Allowance = min(s.Claim.Allowance, s.d.MaxQueueTime-s.Failures.Queued)
	if s.Failures.Queued >= s.d.MaxQueueTime {
		s.Claim.Allowance = 0
		text := fmt.Sprintf("its request has waited for agent %s for longer than maxQueueTime, %s; "+
			"see that the agent runs and keeps up, then resubmit", s.AskedAgent(s.d), s.d.MaxQueueTime)
		s.fail(core.CodeQueue, text, s.Attempt)
		s.enterError()
		return
	}
	s.handBackUncharged(s.at.Now)
}

// deadline stops a task past its deadline, or starts its undo (P23a, a deadline stops or undoes the order).
func (r *decision) deadline(ev core.Event) (string, error) {
	switch {
	case r.t.Terminal():
		return hasEnded, nil
	case r.t.ProcessState != core.Processing:
		return onlyForward, nil
	case ev.(core.DeadlinePassed).Run != r.t.Run:
		return "it belongs to another run", nil
	case !r.t.Deadline.At.Passed(r.at.Now):
		return notYet, nil
	}
	if r.t.onlyUndoes(r.def) {
		r.t.Deadline.At = 0
		return "", nil
	}
	r.t.Reason = Reason{Code: "deadline", Text: "the deadline of the order has passed"}
	if r.def.OnDeadline != core.OnFailureUndo || r.t.PastPointOfNoReturn(r.def) {
		r.stopForOperator()
		return "", nil
	}
	r.t.compensate(WhyDeadline)
	return "", nil
}

// onlyUndoes reports whether nothing is left of the task but the undo of steps that it needs no more (P54, the first
// of several decides).
func (t *Task) onlyUndoes(def *core.Definition) bool {
	for i := range t.Steps {
		if s := &t.Steps[i]; !s.Passed() && s.Withdrawn == 0 && def.MemberOf(i) < 0 {
			return false
		}
	}
	return true
}

// woken sends the reminder that is due, and lets the task go on. An early Wake ends the wait of a step whose agent can
// call its service again (P45, "not now" is not a failure).
func (s step) woken(ev core.Event) (string, error) {
	if ev.(core.Wake).Early && s.Uncalled() {
		s.Wait.At = min(s.Wait.At, s.at.Now)
	}
	switch {
	case s.t.ProcessState != core.Processing: // an undo waits for other times
	case !s.Attempted():
		return notClaims, nil
	case s.awaitsUndo(): // the Supervisor has withdrawn it (P58, a step has a deadline)
	case s.remind():
	case s.State == core.Processing:
		return notNow, nil
	case s.at.Now < s.Wait.At:
		return "its wait is not over", nil
	}
	return "", nil
}

func sameStates(a, b *Task) bool {
	if a.ProcessState != b.ProcessState {
		return false
	}
	for i := range a.Steps {
		x := &a.Steps[i]
		y := &b.Steps[i]
		if x.State != y.State || x.Attempt != y.Attempt || x.Wait.At != y.Wait.At ||
			x.CompleteBy != y.CompleteBy || x.Reminded != y.Reminded {
			return false
		}
	}
	return true
}

// progressInterval is the shortest time between two stored reports of progress (P43, long work reports
// progress). For a timeout below 2 minutes, a quarter of the timeout applies instead.
const progressInterval = 30 * core.Second

// progressed moves the complete-by time of a step to a later time, but at most to stopBy (P43).
func (s step) progressed(ev core.Event) (string, error) {
	e := ev.(core.Progress)
	interval := min(progressInterval, s.TimeoutOf(s.d)/4)
	switch {
	case e.Operation != core.Do || !s.Long(s.d):
		return "the step has no maxDuration: progress does not give it more time", nil
	case s.Claim.StopBy.Passed(s.at.Now):
		return "the attempt's stopBy has passed", nil
	case s.Claim.Progress != nil && s.at.Now < s.Claim.Progress.At.Add(interval) &&
		e.Until <= s.CompleteBy.Add(interval):
		// A report with a much later Until is stored at once, because the next report may come late.
		return "progress was stored a moment ago", nil
	}
	until := e.Until
	if until == 0 {
		until = s.at.Now.Add(s.d.Timeout)
	}
	s.CompleteBy = max(s.CompleteBy, min(until, s.Claim.StopBy))
	s.Claim.Progress = &StepProgress{
		Percent: min(max(e.Percent, 0), 100), Note: core.ShortNote(e.Note),
		At: s.at.Now,
	}
	if s.t.notifies(s.def, core.StatusProgress) {
		s.tell(s.t.Status(core.Status{
			Kind: core.StatusProgress, At: s.at.Now, Step: s.Name,
			Percent: s.Claim.Progress.Percent,
			Note:    s.Claim.Progress.Note,
		}))
	}
	return "", nil
}
