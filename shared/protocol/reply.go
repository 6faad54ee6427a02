package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const maxRetryAfter = core.Hour

// stepDone records that a do has happened. The reply counts even if it is late, or is for an earlier attempt
// (P15, a late "done" counts).
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
	return "", nil
}

// finish makes a step Processed, and emits a status if the workflow asks for it. In Error it emits no
// status, because the status "failed" must have the highest number. A receiver that sorts by number then
// sees that the order has stopped.
func (r *deciding) finish(i int, output json.RawMessage) {
	s := &r.t.Steps[i]
	release(s)
	s.State = core.Processed
	s.Output = output
	s.Claim.Allowance = 0
	s.Finish = Finish{At: r.at.Now}
	s.NoEffect = 0
	if r.t.ProcessState != core.Error {
		r.emitStepFinished(s)
	}
}

func (r *deciding) emitStepFinished(s *Step) {
	if r.notifies(core.StatusStepFinished) {
		s.Finish.Seq = nextSeq(r.t)
		s.Finish.Cause = r.cause
		r.tell(r.t.FinishedStatus(s))
	}
}

func release(s *Step) {
	endAttempt(s)
	endHold(s)
	s.CompleteBy = 0
	s.Wait.At = 0
}

// endAttempt ends the present attempt. It stores the attempt's stopBy in Stops, and keeps only a few values
// of the claim.
func endAttempt(s *Step) {
	c := s.Claim
	if c.Undo {
		s.Stops.Undo = max(s.Stops.Undo, c.StopBy)
	} else {
		s.Stops.Do = max(s.Stops.Do, c.StopBy)
	}
	s.Claim = Claim{Agent: c.Agent, Undo: c.Undo, At: c.At, Allowance: c.Allowance}
}

// giveUp ends an attempt without success. The call may have taken effect. The step no longer waits for a
// reply.
func giveUp(s *Step) {
	s.State = core.Failed
	if s.Claim.Undo {
		s.State = core.UndoWait
	}
	release(s)
}

// handBack returns a step to the state in which a Wake can claim it (P9a, a waiting step has two times).
func handBack(s *Step) {
	s.State = core.Pending
	if s.Claim.Undo {
		s.State = core.UndoWait
	}
	release(s)
}

func (r *deciding) stepFailed(i int, ev core.Event) (string, error) {
	e := ev.(core.Reply)
	r.t.Steps[i].Failures.Do++
	r.recordAttempt(i, e.Outcome, e.Code)
	r.recordFailure(i, e.Code, e.Message, e.Attempt)
	r.recordNoEffect(i, e)
	giveUp(&r.t.Steps[i])
	return "", nil
}

func (r *deciding) stepRetryLater(i int, ev core.Event) (string, error) {
	e := ev.(core.Reply)
	s := &r.t.Steps[i]
	if e.Code == core.CodeQueue && s.Claim.Progress != nil {
		return "a late copy of a request that the agent has received in time", nil
	}
	if r.t.ProcessState == core.Processing && core.Uncounted(e.Code) {
		r.notNow(i, e)
		return "", nil
	}
	r.recordAttempt(i, e.Outcome, e.Code)
	r.recordNoEffect(i, e)
	r.recordFailure(i, e.Code, e.Message, e.Attempt)
	if r.t.ProcessState != core.Processing {
		giveUp(&r.t.Steps[i])
		return "", nil
	}
	s.Failures.Do++
	retry := r.def.Steps[i].Retry
	if s.Failures.Do < retry.Budget() {
		asked := min(e.RetryAfter, maxRetryAfter)
		r.handBack(s, r.at.Now.Add(max(retryWait(r.t, s, retry), asked)))
		return "", nil
	}
	giveUp(&r.t.Steps[i])
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

// setNoEffect records when it was proven that the step had no effect, unless an earlier proof is recorded. In
// Error, the recorded time is later than End.At, the entry into Error. The alert contains only earlier
// proofs, so that a repeated alert is the same (P12, effects are emitted again).
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

// lateNoEffect records a proof that comes after the attempt was counted as overdue (P22a).
func (r *deciding) lateNoEffect(i int, ev core.Event) (string, error) {
	if s := &r.t.Steps[i]; !s.Attempted() || s.NoEffect != 0 || !r.recordNoEffect(i, ev.(core.Reply)) {
		return notAsked, nil
	}
	return "", nil
}

// retryWait returns the backoff, or the interval of the extended wait after MaxFailures failures.
func retryWait(t *Task, s *Step, retry core.Retry) core.Duration {
	if s.Failures.Do < retry.MaxFailures {
		return backoffWait(retry.Backoff, s.Failures.Do, jitter(t.OrderID, t.Run, s.Name, s.Attempt))
	}
	return retry.ExtendedInterval
}

// handBack hands a step back. A Wake claims the step again at wakeAt (P9a).
func (r *deciding) handBack(s *Step, wakeAt core.Time) {
	handBack(s)
	r.scheduleWake(s, wakeAt)
}

// handBackUncharged hands a step back without counting a hop (P23, a hop budget bounds claims).
func (r *deciding) handBackUncharged(s *Step, wakeAt core.Time) {
	if !s.Claim.Undo {
		r.t.Hops = max(0, r.t.Hops-1) // a command may have reset the hops since the claim
	}
	r.handBack(s, wakeAt)
}

// scheduleWake makes a step wait until wakeAt, and emits the Wake. If the Wake is lost, the Supervisor sends
// a new Wake after Definition.Grace (P9a).
func (r *deciding) scheduleWake(s *Step, wakeAt core.Time) {
	s.Wait.At = wakeAt
	s.CompleteBy = wakeAt.Add(r.def.Grace)
	if wakeAt > r.at.Now || r.bySupervisor() { // otherwise advance goes on at once
		r.wake(s, wakeAt)
	}
}

func (r *deciding) wake(s *Step, at core.Time) {
	r.emit(core.SendWake{OrderID: r.t.OrderID, Run: r.t.Run, Step: s.Name, Attempt: s.Attempt, WakeAt: at})
}

func (r *deciding) wakeEarly(s *Step) {
	r.emit(core.SendWake{OrderID: r.t.OrderID, Run: r.t.Run, Step: s.Name, Attempt: s.Attempt, Early: true})
}

// recordAttempt stores the outcome of an unsuccessful attempt. It stores nothing for a late reply, because
// the attempt is stored already.
func (r *deciding) recordAttempt(i int, outcome core.Outcome, code string) {
	s := &r.t.Steps[i]
	if !s.InFlight() {
		return
	}
	r.t.Attempts.Last = append(slices.Clip(r.t.Attempts.Last), Attempt{
		Step: s.Name, Number: s.Attempt, Undo: s.Claim.Undo, Began: s.Claim.At, Ended: r.at.Now,
		Outcome: outcome, Code: core.ShortCode(code), Agent: s.Claim.Agent,
	})
	r.t.DropAttempts(MaxAttempts)
}

func (r *deciding) recordFailure(i int, code, message string, attempt int) {
	r.t.Steps[i].Error = &StepError{
		Code:    strings.ToValidUTF8(code[:min(len(code), core.MaxCode)], ""),
		Message: core.TrimMessage(core.RedactText(message)),
		At:      r.at.Now, Attempt: attempt,
	}
}

// applyPolicies applies the policy of each failed step (P19, policy decides about a failed step), and continues
// the undo of the steps after which the order goes on (P42, orders can go on after failures).
func (r *deciding) applyPolicies() {
	for i := range r.t.Steps {
		s := &r.t.Steps[i]
		if s.State == core.Failed {
			r.applyPolicy(i)
		}
		if r.err != nil || r.t.ProcessState != core.Processing {
			return
		}
		if s.State != core.UndoWait || s.Wait.At > r.at.Now {
			continue
		}
		if r.bySupervisor() { // even a step without undo lets others begin
			r.claimLater(i)
			continue
		}
		r.undoStep(i)
	}
}

func (r *deciding) applyPolicy(i int) {
	switch {
	case r.policyOf(i) == core.OnFailureContinue:
		r.goOnWithout(i)
	case r.stopsOnFailure(i):
		r.enterError(core.Forward, i)
	default:
		compensate(r.t, WhyFailure, i)
	}
}

// stopsOnFailure reports whether a failure of the step stops the task. The policy of the step can require
// the stop. A claimed point of no return also requires the stop, until a proof shows that its call had no
// effect.
func (r *deciding) stopsOnFailure(i int) bool {
	return r.policyOf(i) == core.OnFailureStop || r.t.PastPointOfNoReturn(r.def)
}

// compensate changes a task that goes forward to Compensating. It claims no undo; advance does this later.
// failed is the step that is the reason, or -1.
func compensate(t *Task, why Why, failed int) {
	t.ProcessState = core.Compensating
	t.Undo.Why = why
	if failed >= 0 {
		t.Reason = t.Steps[failed].FailureReason()
	}
}

func (r *deciding) stepUndone(i int, _ core.Event) (string, error) {
	undone(&r.t.Steps[i])
	return "", nil
}

func undone(s *Step) {
	s.State = core.Compensated
	release(s)
}

// undoRefused handles a failed undo. It treats a permanent failure like a transient one, because the step
// has to be undone in the end.
func (r *deciding) undoRefused(i int, ev core.Event) (string, error) {
	e := ev.(core.Reply)
	if e.Outcome == core.OutcomeRetryLater && core.Uncounted(e.Code) {
		r.notNow(i, e)
		return "", nil
	}
	r.recordAttempt(i, e.Outcome, e.Code)
	r.recordFailure(i, e.Code, e.Message, e.Attempt)
	r.retryUndo(i, min(e.RetryAfter, maxRetryAfter))
	return "", nil
}

// Bounds of the wait between uncounted hand-backs (P45, "not now" is not a failure). The wait is as long as
// the step has waited so far, within these bounds, plus jitter. RetryAfter can make it longer.
const (
	minHold = 2 * core.Second
	maxHold = 5 * core.Minute
)

// hold is a series of consecutive hand-backs that do not count as failures (P45).
type hold struct {
	since   core.Time     // time of the first hand-back
	polling core.Time     // time of the first not-yet of the present poll; 0 if the step does not poll
	most    core.Duration // longest duration of the series
	over    string        // beginning of the failure's message if the series lasts longer
}

// holdOf returns the series of hand-backs to which a reply belongs. A not-yet continues the poll of the
// step. Every other code means that the service was not called. Such replies form a series of their own,
// which does not end the poll.
func (r *deciding) holdOf(i int, e core.Reply) hold {
	d := &r.def.Steps[i]
	last := r.t.Steps[i].Error
	if last == nil || last.Since == 0 {
		last = &StepError{}
	}
	if e.Code != core.CodeNotYet {
		h := hold{
			r.at.Now, last.Polling, d.MaxQueueTime,
			"the agent has not called its service for longer than maxQueueTime: ",
		}
		if core.Uncalled(last.Code) {
			h.since = last.Since
		}
		return h
	}
	h := hold{
		since: last.Polling, most: d.PollFor,
		over: "the service has answered not-yet for longer than pollFor: ",
	}
	if h.since == 0 {
		h.since = r.at.Now
	}
	h.polling = h.since
	if h.most == 0 {
		h.most = d.MaxQueueTime
		h.over = "the service has answered not-yet for longer than maxQueueTime, " +
			"the limit of a step without pollFor: "
	}
	return h
}

// notNow hands a step back whose agent made no call. A request that came too late has waited in a queue (P32,
// queue time is not a failure). Any other reply says why the agent could not call (P45).
func (r *deciding) notNow(i int, e core.Reply) {
	if e.Code == core.CodeQueue && r.t.ProcessState != core.Error {
		r.backlog(i)
		return
	}
	r.recordAttempt(i, e.Outcome, e.Code)
	if e.Operation == core.Do {
		r.recordNoEffect(i, e)
	}
	r.handBackUncounted(i, e)
}

// handBackUncounted hands a step back without counting a failure or a hop (P45). After pollFor or
// maxQueueTime, the task stops for the operator under every policy. In Error, only the attempt ends.
func (r *deciding) handBackUncounted(i int, e core.Reply) {
	s := &r.t.Steps[i]
	h := r.holdOf(i, e)
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
	s.Error.Since = h.since
	s.Error.Polling = h.polling // recordFailure has removed the earlier values
}

// endHold ends a series of uncounted hand-backs. The last failure stays for people to see.
func endHold(s *Step) {
	if s.Error != nil && s.Error.Since != 0 {
		last := *s.Error
		last.Since = 0
		last.Polling = 0
		s.Error = &last
	}
}

// retryUndo counts a failed undo, and delays the next attempt. After MaxFailures failures, the task stops
// for the operator.
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
