package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const notYet = "its time has not passed"

// doOverdue handles a do whose reply did not come in time (P16, the Supervisor hands back and gives up).
func (r *deciding) doOverdue(i int, ev core.Event) (string, error) {
	e := ev.(core.Overdue)
	s := &r.t.Steps[i]
	if !s.CompleteBy.Passed(r.at.Now) {
		return notYet, nil
	}
	forward := r.t.ProcessState == core.Processing
	if forward && e.Backlog && s.Claim.Progress == nil { // an agent that reports progress has received the request
		return r.backlog(i), nil
	}
	r.recordAttempt(i, OutcomeOverdue, core.CodeTimeout)
	r.recordFailure(i, core.CodeTimeout, core.TimeoutText, e.Attempt)
	if !forward {
		giveUp(s)
		return "", nil
	}
	s.Failures.Do++
	if retry := r.def.Steps[i].Retry; s.Failures.Do < retry.Budget() {
		r.handBack(s, r.at.Now.Add(retryWait(r.t, s, retry)))
		return "", nil
	}
	giveUp(s)
	return "", nil
}

// claimLater leaves the claim of an undo to the Scheduler (P16, the Supervisor hands back and gives up). It does
// nothing if a Wake is on its way.
func (r *deciding) claimLater(i int) {
	s := &r.t.Steps[i]
	if s.AwaitsWake() && s.CompleteBy > r.at.Now {
		return
	}
	if s.State != core.Waiting {
		r.recordAttempt(i, OutcomeSuperseded, "")
		release(s)
		s.State = core.UndoWait
	}
	r.wakeNow(s)
}

// wakeNow wakes the Scheduler for a step at once. It also sets the time at which the Supervisor sends a new
// Wake.
func (r *deciding) wakeNow(s *Step) {
	s.CompleteBy = r.at.Now.Add(r.def.Grace)
	r.wake(s, 0)
}

func (r *deciding) undoOverdue(i int, ev core.Event) (string, error) {
	e := ev.(core.Overdue)
	s := &r.t.Steps[i]
	if !s.CompleteBy.Passed(r.at.Now) {
		return notYet, nil
	}
	if e.Backlog && r.t.ProcessState != core.Error {
		return r.backlog(i), nil
	}
	r.recordAttempt(i, OutcomeOverdue, core.CodeTimeout)
	r.recordFailure(i, core.CodeTimeout, "no reply to the undo by the complete-by time", e.Attempt)
	r.retryUndo(i, 0)
	return "", nil
}

// backlog hands a step back without counting a failure (P32, queue time is not a failure). Most likely the
// request still waits in the agent's queue. backlog doubles the allowance, up to the rest of maxQueueTime, so
// that the next request can wait longer. After maxQueueTime in total, the task stops for the operator.
func (r *deciding) backlog(i int) string {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	r.recordAttempt(i, OutcomeOverdue, core.CodeQueue)
	s.Failures.Queued += r.at.Now.Sub(s.Claim.At)
	s.Claim.Allowance = min(max(s.Claim.Allowance, 1)*2, d.MaxQueueTime-s.Failures.Queued)
	if s.Failures.Queued >= d.MaxQueueTime {
		s.Claim.Allowance = 0
		text := fmt.Sprintf("its request has waited for agent %s for longer than maxQueueTime, %s; "+
			"see that the agent runs and keeps up, then resubmit", s.AskedAgent(d), d.MaxQueueTime)
		r.recordFailure(i, core.CodeQueue, text, s.Attempt)
		giveUp(s)
		r.enterError(r.t.Direction(), i)
		return ""
	}
	r.handBackUncharged(s, r.at.Now)
	return ""
}

// waitOverdue sends the Wake of a step whose Wake was lost, or whose wait was too long for a message. It
// counts no failure, and does not move the end of the wait.
func (r *deciding) waitOverdue(i int, _ core.Event) (string, error) {
	s := &r.t.Steps[i]
	if !s.CompleteBy.Passed(r.at.Now) {
		return notYet, nil
	}
	r.wakeNow(s)
	return "", nil
}

// deadline stops a task past its deadline, or starts its undo (P23a, a deadline stops or undoes the order).
func (r *deciding) deadline(_ int, ev core.Event) (string, error) {
	switch {
	case ev.(core.DeadlinePassed).Run != r.t.Run:
		return "it belongs to another run", nil
	case !r.t.Deadline.At.Passed(r.at.Now):
		return notYet, nil
	}
	r.t.Reason = Reason{Code: "deadline", Text: "the deadline of the order has passed"}
	if r.def.OnDeadline != core.OnFailureUndo || r.t.PastPointOfNoReturn(r.def) {
		r.stopForOperator(core.Forward)
		return "", nil
	}
	compensate(r.t, WhyDeadline, -1)
	return "", nil
}

// endHoldEarly ends the wait of a step whose agent can call its service again (P45, "not now" is not a
// failure). A Wake without Early ends no wait.
func (r *deciding) endHoldEarly(i int, ev core.Event) {
	if w := ev.(core.Wake); i >= 0 && w.Early && r.t.Steps[i].Uncalled() {
		r.t.Steps[i].Wait.At = min(r.t.Steps[i].Wait.At, r.at.Now)
	}
}

func (r *deciding) wakeForward(i int, ev core.Event) (string, error) {
	r.endHoldEarly(i, ev)
	switch s := &r.t.Steps[i]; {
	case !s.Attempted():
		return notClaims, nil
	case r.at.Now < s.NextLook(&r.def.Steps[i]):
		return "its wait is not over", nil
	}
	r.kind(i).woken(r, i)
	return "", nil
}

// wakeUndo lets the undo of a task continue.
func (r *deciding) wakeUndo(i int, ev core.Event) (string, error) {
	r.endHoldEarly(i, ev)
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
			x.CompleteBy != y.CompleteBy {
			return false
		}
	}
	return true
}
