package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// maxRetryAfter bounds the wait that a service may ask for.
const maxRetryAfter = core.Hour

// stepDone records that a do has happened (P15, a late "done" counts). The reply counts even if it is late or
// from an earlier attempt.
func (r *deciding) stepDone(i int, ev core.Event) (string, error) {
	s := &r.t.Steps[i]
	if !s.Attempted() {
		return notClaims, nil
	}
	e := ev.(core.Reply)
	if !r.outputFits(i, e.Output) {
		return r.outputTooLarge(i, e)
	}
	r.finish(i, e.Output)
	r.advance()
	return "", nil
}

// finish makes a step Processed, with a status if the workflow wants one. An order in Error sends no more
// statuses until a command continues it. The status "failed" has the highest number, so that a receiver that
// sorts by number sees that the order has stopped.
func (r *deciding) finish(i int, output json.RawMessage) {
	s := &r.t.Steps[i]
	release(s)
	s.State, s.Output, s.Claim.Allowance = core.Processed, output, 0
	s.Finish, s.NoEffect = core.Finish{At: r.at.Now}, 0
	if r.t.ProcessState != core.Error {
		r.emitStepFinished(s)
	}
}

func (r *deciding) emitStepFinished(s *core.Step) {
	if r.notifies(core.StatusStepFinished) {
		s.Finish.Seq, s.Finish.Cause = r.nextSeq(), r.cause
		r.emit(r.t.FinishedStatus(s))
	}
}

// release ends a claim or a wait.
func release(s *core.Step) {
	endAttempt(s)
	endHold(s)
	s.CompleteBy, s.Wait.At = 0, 0
}

// endAttempt makes the present attempt an earlier one. The step keeps only these values of its claim.
func endAttempt(s *core.Step) {
	c := s.Claim
	if c.Undo {
		s.Stops.Undo = max(s.Stops.Undo, c.StopBy)
	} else {
		s.Stops.Do = max(s.Stops.Do, c.StopBy)
	}
	s.Claim = core.Claim{Agent: c.Agent, Undo: c.Undo, At: c.At, Allowance: c.Allowance}
}

// giveUp ends a claim that had no success. The step, or its undo, is in doubt, and no reply is expected any
// more.
func giveUp(s *core.Step) {
	s.State = core.Failed
	if s.Claim.Undo {
		s.State = core.UndoWait
	}
	release(s)
}

// handBack returns a step to the state from which a Wake claims it (P9a, a waiting step has two times).
func handBack(s *core.Step) {
	s.State = core.Pending
	if s.Claim.Undo {
		s.State = core.UndoWait
	}
	release(s)
}

// stepFailed records the permanent failure of a do.
func (r *deciding) stepFailed(i int, ev core.Event) (string, error) {
	e := ev.(core.Reply)
	r.t.Steps[i].Failures.Do++
	r.recordAttempt(i, e.Outcome, e.Code)
	r.recordFailure(i, e.Code, e.Message, e.Attempt)
	r.recordNoEffect(i, e)
	r.failStep(i)
	return "", nil
}

// stepRetryLater records a transient failure after the agent's own retries.
func (r *deciding) stepRetryLater(i int, ev core.Event) (string, error) {
	e := ev.(core.Reply)
	s := &r.t.Steps[i]
	r.recordAttempt(i, e.Outcome, e.Code)
	r.recordNoEffect(i, e)
	if r.t.ProcessState == core.Processing && core.Uncounted(e.Code) {
		r.handBackUncounted(i, e)
		return "", nil
	}
	r.recordFailure(i, e.Code, e.Message, e.Attempt)
	if r.t.ProcessState != core.Processing {
		r.failStep(i)
		return "", nil
	}
	s.Failures.Do++
	retry := r.def.Steps[i].Retry
	if s.Failures.Do < retry.Budget() {
		asked := min(e.RetryAfter, maxRetryAfter)
		r.handBack(s, r.at.Now.Add(max(r.retryWait(i, retry), asked)))
		return "", nil
	}
	r.failStep(i)
	return "", nil
}

// recordNoEffect records a reply's proof that a point of no return had no effect (P22a, a proven refusal
// permits undo). Other steps need no proof to be undone (P7, undo covers every attempted step).
func (r *deciding) recordNoEffect(i int, e core.Reply) bool {
	if !e.NoEffect || !r.def.Steps[i].PointOfNoReturn {
		return false
	}
	r.setNoEffect(i)
	return true
}

// setNoEffect records the time from which the step is known to have had no effect, unless it is recorded
// already. In Error this is a time after the task's stop, so that the alert about the stop, which does not
// contain the fact, is the same when it is sent again (P12, effects are emitted again).
func (r *deciding) setNoEffect(i int) {
	if r.t.Steps[i].NoEffect != 0 {
		return
	}
	at := r.at.Now
	if r.t.ProcessState == core.Error {
		at = max(at, r.t.End.At+1)
	}
	r.t.Steps[i].NoEffect = at
}

// lateNoEffect records a proof that comes after the step was counted as overdue (P22a).
func (r *deciding) lateNoEffect(i int, ev core.Event) (string, error) {
	if s := &r.t.Steps[i]; !s.Attempted() || s.NoEffect != 0 || !r.recordNoEffect(i, ev.(core.Reply)) {
		return notAsked, nil
	}
	return "", nil
}

// retryWait returns the backoff, or past MaxFailures the interval of the extended wait.
func (r *deciding) retryWait(i int, retry core.Retry) core.Duration {
	s := &r.t.Steps[i]
	if s.Failures.Do < retry.MaxFailures {
		return backoffWait(retry.Backoff, s.Failures.Do, jitter(r.t.OrderID, r.t.Run, s.Name, s.Attempt))
	}
	return retry.ExtendedInterval
}

// handBack hands a step back. A Wake claims it again at wakeAt (P9a).
func (r *deciding) handBack(s *core.Step, wakeAt core.Time) {
	handBack(s)
	r.scheduleWake(s, wakeAt)
}

// handBackUncharged hands a step back without counting a hop (P23, a hop budget bounds
// claims).
func (r *deciding) handBackUncharged(s *core.Step, wakeAt core.Time) {
	if !s.Claim.Undo {
		r.t.Hops = max(0, r.t.Hops-1) // a command may have reset the hops since the claim
	}
	r.handBack(s, wakeAt)
}

// scheduleWake makes a released step wait until wakeAt. If that Wake is lost, the Supervisor sends another
// one after the grace (P9a).
func (r *deciding) scheduleWake(s *core.Step, wakeAt core.Time) {
	s.Wait.At, s.CompleteBy = wakeAt, wakeAt.Add(r.def.Grace)
	r.wake(s, wakeAt)
}

func (r *deciding) wake(s *core.Step, at core.Time) {
	r.emit(core.SendWake{OrderID: r.t.OrderID, Run: r.t.Run, Step: s.Name, Attempt: s.Attempt, WakeAt: at})
}

// failStep fails a do for good and applies the step's policy to the task.
func (r *deciding) failStep(i int) {
	giveUp(&r.t.Steps[i])
	r.applyPolicy(i)
}

// recordAttempt stores the outcome of a step's present attempt, which was unsuccessful. A late
// reply to an earlier attempt adds nothing.
func (r *deciding) recordAttempt(i int, outcome core.Outcome, code string) {
	s := &r.t.Steps[i]
	if !s.InFlight() {
		return
	}
	r.t.Attempts.Last = append(slices.Clip(r.t.Attempts.Last), core.Attempt{
		Step: s.Name, Number: s.Attempt, Undo: s.Claim.Undo, Began: s.Claim.At, Ended: r.at.Now,
		Outcome: outcome, Code: core.ShortCode(code), Agent: s.Claim.Agent,
	})
	r.t.DropAttempts(core.MaxAttempts)
}

// recordFailure stores the step's latest failure.
func (r *deciding) recordFailure(i int, code, message string, attempt int) {
	r.t.Steps[i].Error = &core.StepError{
		Code:    strings.ToValidUTF8(code[:min(len(code), core.MaxCode)], ""),
		Message: core.TrimMessage(core.RedactText(message)),
		At:      r.at.Now, Attempt: attempt,
	}
}

// applyPolicy applies a failed step's policy (P19, policy decides about a failed step), but not in Error.
func (r *deciding) applyPolicy(i int) {
	switch r.t.ProcessState {
	case core.Processing:
		if r.policyOf(i) == core.OnFailureContinue {
			r.goOnWithout(i)
			return
		}
		if r.stopsOnFailure(i) {
			r.enterError(core.Forward, i)
			return
		}
		r.compensate(core.WhyFailure, i)
		r.advance()
	case core.Compensating:
		r.advance()
	}
}

// stopsOnFailure reports whether a failure of the step stops the task, because of the step's own policy or
// because a point of no return was passed. A point of no return is passed with its claim, even if the step is
// not done (H9).
func (r *deciding) stopsOnFailure(i int) bool {
	return r.policyOf(i) == core.OnFailureStop || r.t.PastPointOfNoReturn(r.def)
}

// compensate starts the undo of a task that goes forward. It claims nothing.
func (r *deciding) compensate(why core.Why, failed int) {
	r.t.ProcessState, r.t.Undo.Why = core.Compensating, why
	if failed >= 0 {
		r.t.Reason = r.t.Steps[failed].FailureReason()
	}
}

// stepUndone records that an undo is done (P15).
func (r *deciding) stepUndone(i int, _ core.Event) (string, error) {
	r.undone(i)
	r.advance()
	return "", nil
}

func (r *deciding) undone(i int) {
	s := &r.t.Steps[i]
	s.State = core.Compensated
	release(s)
}

// undoRefused handles a failed undo. It makes no difference that the service calls the failure permanent,
// because the step has to be undone in the end.
func (r *deciding) undoRefused(i int, ev core.Event) (string, error) {
	e := ev.(core.Reply)
	r.recordAttempt(i, e.Outcome, e.Code)
	if e.Outcome == core.OutcomeRetryLater && core.Uncounted(e.Code) {
		r.handBackUncounted(i, e)
		return "", nil
	}
	r.recordFailure(i, e.Code, e.Message, e.Attempt)
	r.retryUndo(i, min(e.RetryAfter, maxRetryAfter))
	return "", nil
}

// Bounds of the wait between uncounted hand-backs (P45, "not now" is not a failure). Each wait is as long as
// the step has waited so far, but at least minHold and at most maxHold. A spread is added: up to half of the
// wait, depending on the attempt.
const (
	minHold = 2 * core.Second
	maxHold = 5 * core.Minute
)

// hold is an unbroken row of hand-backs that do not count (P45).
type hold struct {
	since   core.Time     // time of the first hand-back
	polling core.Time     // time of the first not-yet of this poll; 0 if the step does not poll
	most    core.Duration // limit of the row's duration
	over    string        // message of the failure if the row lasts longer
}

// holdOf returns the row of hand-backs that a reply continues or begins. A not-yet continues the poll. Other
// codes mean that the service was not called: their row has a limit of its own, and does not end the poll.
func (r *deciding) holdOf(i int, e core.Reply) hold {
	d, last := &r.def.Steps[i], r.t.Steps[i].Error
	if last == nil || last.Since == 0 {
		last = &core.StepError{}
	}
	if e.Code != core.CodeNotYet {
		h := hold{r.at.Now, last.Polling, d.MaxQueueTime,
			"the agent has not called its service for longer than maxQueueTime: "}
		if core.Uncalled(last.Code) {
			h.since = last.Since
		}
		return h
	}
	h := hold{since: last.Polling, most: d.PollFor,
		over: "the service has answered not-yet for longer than pollFor: "}
	if h.since == 0 {
		h.since = r.at.Now
	}
	if h.polling = h.since; h.most == 0 {
		h.most, h.over = d.MaxQueueTime, "the service has answered not-yet for longer than maxQueueTime, "+
			"the limit of a step without pollFor: "
	}
	return h
}

// handBackUncounted hands a step back because its agent made no call that could have had an effect (P45). It
// counts no failure and no hop, up to pollFor or maxQueueTime. After that the operator is needed, whatever
// the step's policy is.
func (r *deciding) handBackUncounted(i int, e core.Reply) {
	s, h := &r.t.Steps[i], r.holdOf(i, e)
	held := r.at.Now.Sub(h.since)
	message := e.Message
	over := r.t.ProcessState != core.Error && held >= h.most
	if over {
		message = h.over + message
	}
	r.recordFailure(i, e.Code, message, e.Attempt)
	if over || r.t.ProcessState == core.Error {
		giveUp(s)
		if over {
			r.enterError(r.t.Direction(), i)
		}
		return
	}
	wait := min(max(held, minHold), maxHold)
	wait += core.Duration(float64(wait) / 2 * jitter(r.t.OrderID, r.t.Run, s.Name, s.Attempt))
	wait = max(wait, min(e.RetryAfter, maxRetryAfter))
	r.handBackUncharged(s, r.at.Now.Add(min(wait, max(h.most-held, minHold))))
	s.Error.Since, s.Error.Polling = h.since, h.polling // release has removed the earlier values
}

// endHold ends a row of uncounted hand-backs. It keeps the last failure, which people may want to see.
func endHold(s *core.Step) {
	if s.Error != nil && s.Error.Since != 0 {
		last := *s.Error
		last.Since, last.Polling = 0, 0
		s.Error = &last
	}
}

// retryUndo counts a failed undo and delays the next attempt. When its budget is used up, the operator is
// needed.
func (r *deciding) retryUndo(i int, atLeast core.Duration) {
	s := &r.t.Steps[i]
	retry := r.def.Steps[i].Undo.Retry
	s.Failures.Undo++
	giveUp(s)
	switch {
	case r.t.ProcessState == core.Error:
	case s.Failures.Undo < retry.MaxFailures:
		u := jitter(r.t.OrderID, r.t.Run, s.Name, s.Attempt)
		r.scheduleWake(s, r.at.Now.Add(max(backoffWait(retry.Backoff, s.Failures.Undo, u), atLeast)))
	default:
		r.enterError(r.t.Direction(), i)
	}
}
