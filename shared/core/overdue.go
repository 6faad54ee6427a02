package core

import "fmt"

// SweepEvents lists what the Supervisor has to decide about a task at this time: steps and waits
// past their complete-by, the task's deadline, a final status unacknowledged for too long.
func SweepEvents(def *Definition, t *Task, now Time) []Event {
	var events []Event
	going := t.ProcessState == Processing || t.ProcessState == Compensating
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.CompleteBy.Passed(now) && (s.InFlight() || going && s.AwaitsWake()) {
			events = append(events, Overdue{Step: s.Name, Attempt: s.Attempt})
		}
	}
	if t.ProcessState == Processing && t.Deadline.At.Passed(now) {
		events = append(events, DeadlinePassed{Run: t.Run})
	}
	if t.End.ResendAt.Passed(now) {
		events = append(events, ResendDue{})
	}
	return events
}

const notYet = "its time has not passed"

// doOverdue is the Supervisor's answer to a do that did not reply in time (P16).
func (r *deciding) doOverdue(i int, ev Event) (string, error) {
	e := ev.(Overdue)
	s := &r.t.Steps[i]
	if !s.CompleteBy.Passed(r.at.Now) {
		return notYet, nil
	}
	if r.t.ProcessState != Processing {
		r.recordAttempt(i, OutcomeOverdue, CodeTimeout)
		r.recordFailure(i, CodeTimeout, TimeoutText, e.Attempt)
		s.giveUp()
		if r.t.ProcessState == Compensating {
			r.wakeNow(s)
		}
		return "", nil
	}
	if e.Backlog && s.Claim.Progress == nil { // Progress proves that an agent has had the request.
		return r.backlog(i), nil
	}
	r.recordAttempt(i, OutcomeOverdue, CodeTimeout)
	r.recordFailure(i, CodeTimeout, TimeoutText, e.Attempt)
	s.Failures.Do++
	if retry := r.def.Steps[i].Retry; s.Failures.Do < retry.Budget() {
		r.handBack(s, r.at.Now.Add(r.retryWait(i, retry)))
		return "", nil
	}
	s.giveUp()
	if r.policyOf(i) == OnFailureContinue {
		r.goOnWithout(i)
		return "", nil
	}
	if r.stopsOnFailure(i) {
		r.enterError(Forward, i)
		return "", nil
	}
	// The Supervisor claims nothing: it leaves a time and wakes the Scheduler (H14, H24).
	r.compensate(WhyFailure, i)
	r.wakeNow(s)
	return "", nil
}

// wakeNow wakes the Scheduler at once for a step, and leaves a time for the Supervisor to ask again.
func (r *deciding) wakeNow(s *Step) {
	s.CompleteBy = r.at.Now.Add(r.def.Grace)
	r.wake(s, 0)
}

// undoOverdue counts a failed undo.
func (r *deciding) undoOverdue(i int, ev Event) (string, error) {
	e := ev.(Overdue)
	s := &r.t.Steps[i]
	if !s.CompleteBy.Passed(r.at.Now) {
		return notYet, nil
	}
	if e.Backlog && r.t.ProcessState != Error {
		return r.backlog(i), nil
	}
	r.recordAttempt(i, OutcomeOverdue, CodeTimeout)
	r.recordFailure(i, CodeTimeout, "no reply to the undo by the complete-by time", e.Attempt)
	r.retryUndo(i, 0)
	return "", nil
}

// backlog hands a step back uncounted: its request most likely still waits in its agent's queue, because that
// is too long or the agent takes nothing, and time in a queue is not a failure (P32). The allowance doubles,
// so that the next copy outlives the queue, up to what is left of maxQueueTime: then the operator is needed.
func (r *deciding) backlog(i int) string {
	s, d := &r.t.Steps[i], &r.def.Steps[i]
	r.recordAttempt(i, OutcomeOverdue, CodeQueue)
	s.Failures.Queued += r.at.Now.Sub(s.Claim.At)
	s.Claim.Allowance = min(max(s.Claim.Allowance, 1)*2, d.MaxQueueTime-s.Failures.Queued)
	if s.Failures.Queued >= d.MaxQueueTime {
		s.Claim.Allowance = 0
		text := fmt.Sprintf("its request has waited for agent %s for longer than maxQueueTime, %s; "+
			"see that the agent runs and keeps up, then resubmit", d.AskedAgent(s), d.MaxQueueTime)
		r.recordFailure(i, CodeQueue, text, s.Attempt)
		s.giveUp()
		r.enterError(r.t.Direction(), i)
		return ""
	}
	r.handBackUncharged(s, r.at.Now)
	return ""
}

// waitOverdue sends another Wake for a step whose Wake was lost. Nothing is counted, and
// wakeAt stays as it is (H26).
func (r *deciding) waitOverdue(i int, _ Event) (string, error) {
	s := &r.t.Steps[i]
	if !s.CompleteBy.Passed(r.at.Now) {
		return notYet, nil
	}
	r.wakeNow(s)
	return "", nil
}

// deadline stops a task past its deadline, or starts its undo (P23a).
func (r *deciding) deadline(_ int, ev Event) (string, error) {
	switch {
	case ev.(DeadlinePassed).Run != r.t.Run:
		return "it belongs to another run", nil
	case !r.t.Deadline.At.Passed(r.at.Now):
		return notYet, nil
	}
	r.t.Reason = Reason{Code: "deadline", Text: "the deadline of the order has passed"}
	if r.def.OnDeadline != OnFailureUndo || r.t.PastPointOfNoReturn(r.def) {
		r.stopForOperator(Forward)
		return "", nil
	}
	r.compensate(WhyDeadline, -1)
	for i := range r.t.Steps {
		if s := &r.t.Steps[i]; s.HandedBack() || s.State == Waiting {
			r.wakeNow(s)
		}
	}
	r.emit(SendWake{OrderID: r.t.OrderID, Run: r.t.Run})
	return "", nil
}

// resendDue asks the Scheduler to send an unacknowledged final status again, and sets the next time for it
// (P11).
func (r *deciding) resendDue(_ int, _ Event) (string, error) {
	if !r.t.End.ResendAt.Passed(r.at.Now) {
		return notYet, nil
	}
	r.t.End.ResendAt = r.at.Now.Add(r.resendAfter())
	r.emit(SendSettle{OrderID: r.t.OrderID})
	return "", nil
}

// wakeForward lets a step go on whose wait is over.
func (r *deciding) wakeForward(i int, _ Event) (string, error) {
	switch s := &r.t.Steps[i]; {
	case !s.Attempted():
		return notClaims, nil
	case r.at.Now < r.def.Steps[i].NextLook(s):
		return "its wait is not over", nil
	}
	r.kind(i).woken(r, i)
	return "", nil
}

// wakeUndo lets the undo go on. Where it cannot, the event changes nothing.
func (r *deciding) wakeUndo(_ int, ev Event) (string, error) {
	switch run := ev.(Wake).Run; { // a Wake for the whole task has passed no guard
	case run > r.t.Run:
		return "", ErrStale
	case run < r.t.Run:
		return earlierRun, nil
	}
	before := *r.t
	before.Steps = append([]Step(nil), r.t.Steps...)
	r.advance()
	if r.err == nil && sameStates(&before, r.t) {
		return "the undo waits for something else", nil
	}
	return "", nil
}

// sameStates compares what advance can change.
func sameStates(a, b *Task) bool {
	if a.ProcessState != b.ProcessState {
		return false
	}
	for i := range a.Steps {
		x, y := &a.Steps[i], &b.Steps[i]
		if x.State != y.State || x.Attempt != y.Attempt || x.Wait.At != y.Wait.At ||
			x.CompleteBy != y.CompleteBy {
			return false
		}
	}
	return true
}
