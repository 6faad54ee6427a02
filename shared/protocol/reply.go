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
func (s step) stepDone(ev core.Event) (string, error) {
	if !s.Attempted() {
		return notClaims, nil
	}
	if s.Withdrawn != 0 {
		s.doneWithdrawn()
		return "", nil
	}
	e := ev.(core.Reply)
	switch {
	case s.undoneSince(e):
		return takenBack, nil
	case !s.outputFits(e.Output):
		return s.outputTooLarge(e)
	}
	s.finish(e.Output)
	return "", nil
}

// undoneSince reports whether the operator has stated, after the attempt of the reply, that the step was undone. What
// the attempt has done stands no more.
func (s *Step) undoneSince(e core.Reply) bool {
	r := s.Resolved
	return r != nil && r.Fact == core.Undone && (e.Attempt < s.Attempt || !s.InFlight() && r.At > s.Claim.At)
}

// doneInDoubt cancels the proof that a step which was given up had no effect (P22a, a proven refusal permits undo).
func (s step) doneInDoubt(ev core.Event) (string, error) {
	if s.NoEffect == 0 || s.undoneSince(ev.(core.Reply)) {
		return inDoubt, nil
	}
	s.NoEffect = 0
	return "", nil
}

// finish makes a step Processed, and emits a status if the workflow asks for it. In Error it emits no
// status, because the status "failed" must have the highest number. A receiver that sorts by number then
// sees that the order has stopped.
func (s step) finish(output json.RawMessage) {
	s.release()
	s.State = core.Processed
	s.Output = output
	s.Claim.Allowance = 0
	s.Finish = Finish{At: s.at.Now}
	s.NoEffect = 0
	if s.t.ProcessState != core.Error {
		s.emitStepFinished()
	}
}

func (s step) emitStepFinished() {
	if s.t.notifies(s.def, core.StatusStepFinished) {
		s.Finish.Seq = nextSeq(s.t)
		s.Finish.Cause = s.cause
		s.tell(s.t.FinishedStatus(s.Step))
	}
}

func (s *Step) release() {
	s.endAttempt()
	s.endHold()
	s.CompleteBy = 0
	s.Wait.At = 0
}

// endAttempt ends the present attempt. It stores the attempt's stopBy in Stops, and keeps only a few values
// of the claim.
func (s *Step) endAttempt() {
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
func (s *Step) giveUp() { s.endAs(core.Failed) }

// endAs ends an attempt without success. A do leaves the step in the given state, an undo in UndoWait.
func (s *Step) endAs(state core.State) {
	s.State = state
	if s.Claim.Undo {
		s.State = core.UndoWait
	}
	s.release()
}

func (s step) stepFailed(ev core.Event) (string, error) {
	e := ev.(core.Reply)
	s.Failures.Do++
	s.recordAttempt(e.Outcome, e.Code)
	s.recordFailure(e.Code, e.Message, e.Attempt)
	s.recordNoEffect(e)
	s.giveUp()
	return "", nil
}

func (s step) stepRetryLater(ev core.Event) (string, error) {
	e := ev.(core.Reply)
	if e.Code == core.CodeQueue && s.Claim.Progress != nil {
		return "a late copy of a request that the agent has received in time", nil
	}
	if s.Withdrawn != 0 {
		s.endWithdrawn(e.Outcome, e.Code, e.Message)
		return "", nil
	}
	if s.t.ProcessState == core.Processing && core.Uncounted(e.Code) {
		s.notNow(e)
		return "", nil
	}
	s.recordAttempt(e.Outcome, e.Code)
	s.recordNoEffect(e)
	s.recordFailure(e.Code, e.Message, e.Attempt)
	s.retry(min(e.RetryAfter, maxRetryAfter))
	return "", nil
}

// recordNoEffect records a reply's proof that a point of no return had no effect (P22a, a proven refusal
// permits undo). Other steps need no proof to be undone (P7, undo covers every attempted step).
func (s step) recordNoEffect(e core.Reply) bool {
	if !e.NoEffect || !s.d.PointOfNoReturn {
		return false
	}
	s.setNoEffect()
	return true
}

// setNoEffect records when it was proven that the step had no effect, unless an earlier proof is recorded. In
// Error, the recorded time is later than End.At, the entry into Error. The alert contains only earlier
// proofs, so that a repeated alert is the same (P12, effects are emitted again).
func (s step) setNoEffect() {
	if s.NoEffect != 0 {
		return
	}
	at := s.at.Now
	if s.t.ProcessState == core.Error {
		at = max(at, s.t.End.At+1)
	}
	s.NoEffect = at
}

// lateNoEffect records a proof that comes after the attempt was counted as overdue (P22a).
func (s step) lateNoEffect(ev core.Event) (string, error) {
	if !s.Attempted() || s.NoEffect != 0 || !s.recordNoEffect(ev.(core.Reply)) {
		return notAsked, nil
	}
	return "", nil
}

// handBack hands a step back. A Wake claims the step again at wakeAt (P9a).
func (s step) handBack(wakeAt core.Time) {
	s.endAs(core.Pending)
	s.scheduleWake(wakeAt)
}

// handBackUncharged hands a step back without counting a hop (P23, a hop budget bounds claims).
func (s step) handBackUncharged(wakeAt core.Time) {
	if !s.Claim.Undo {
		s.t.Hops = max(0, s.t.Hops-1) // a command may have reset the hops since the claim
	}
	s.handBack(wakeAt)
}

// scheduleWake makes a step wait until wakeAt, and emits the Wake. If the Wake is lost, the Supervisor sends
// a new Wake after Definition.Grace (P9a).
func (s step) scheduleWake(wakeAt core.Time) {
	s.Wait.At = wakeAt
	s.CompleteBy = wakeAt.Add(s.def.Grace)
	if wakeAt > s.at.Now || s.bySupervisor() { // otherwise advance goes on at once
		s.wake(wakeAt)
	}
}

func (s step) wake(at core.Time) {
	s.emit(core.SendWake{OrderID: s.t.OrderID, Run: s.t.Run, Step: s.Name, Attempt: s.Attempt, WakeAt: at})
}

func (s step) wakeEarly() {
	s.emit(core.SendWake{OrderID: s.t.OrderID, Run: s.t.Run, Step: s.Name, Attempt: s.Attempt, Early: true})
}

// recordAttempt stores the outcome of an unsuccessful attempt. It stores nothing for a late reply, because
// the attempt is stored already.
func (s step) recordAttempt(outcome core.Outcome, code string) {
	if !s.InFlight() {
		return
	}
	s.t.Attempts.Last = append(slices.Clip(s.t.Attempts.Last), Attempt{
		Step: s.Name, Number: s.Attempt, Undo: s.Claim.Undo, Began: s.Claim.At, Ended: s.at.Now,
		Outcome: outcome, Code: core.ShortCode(code), Agent: s.Claim.Agent,
	})
	s.t.DropAttempts(MaxAttempts)
}

// recordFailure stores a failure. If the document has no space for the texts, it stores the short code only.
func (s step) recordFailure(code, message string, attempt int) {
	s.Error = &StepError{
		Code:    strings.ToValidUTF8(code[:min(len(code), core.MaxCode)], ""),
		Message: core.TrimMessage(core.RedactText(message)),
		At:      s.at.Now, Attempt: attempt,
	}
	if !s.at.SizeLimit.Fits(s.def, s.t) {
		s.Error.Code = core.ShortCode(code)
		s.Error.Message = ""
	}
}

// applyPolicy applies the policy of a Failed step (P19, policy decides about a failed step).
func (s step) applyPolicy() {
	s.failQuestion()
	policy := s.t.policyOf(s.def, s.i)
	switch {
	case s.staysFailed():
	case policy == core.OnFailureContinue:
		s.goOnWithout()
	// A claimed point of no return requires the stop, until a proof shows that its call had no effect.
	case policy == core.OnFailureStop || s.t.PastPointOfNoReturn(s.def):
		s.enterError()
	default:
		s.t.compensate(WhyFailure)
		s.t.Reason = s.FailureReason()
	}
}

// compensate changes a task that goes forward to Compensating. It claims no undo; advance does this later.
func (t *Task) compensate(why Why) {
	t.ProcessState = core.Compensating
	t.Undo.Why = why
}

func (s step) stepUndone(_ core.Event) (string, error) {
	s.undone()
	return "", nil
}

func (s *Step) undone() {
	s.State = core.Compensated
	s.release()
}

// undoRefused handles a failed undo. It treats a permanent failure like a transient one, because the step
// has to be undone in the end.
func (s step) undoRefused(ev core.Event) (string, error) {
	e := ev.(core.Reply)
	if e.Outcome == core.OutcomeRetryLater && core.Uncounted(e.Code) {
		s.notNow(e)
		return "", nil
	}
	s.recordAttempt(e.Outcome, e.Code)
	s.recordFailure(e.Code, e.Message, e.Attempt)
	s.retry(min(e.RetryAfter, maxRetryAfter))
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
func (s step) holdOf(e core.Reply) hold {
	last := s.Error
	if last == nil || last.Since == 0 {
		last = &StepError{}
	}
	if e.Code != core.CodeNotYet {
		h := hold{
			s.at.Now, last.Polling, s.d.MaxQueueTime,
			"the agent has not called its service for longer than maxQueueTime: ",
		}
		if core.Uncalled(last.Code) {
			h.since = last.Since
		}
		return h
	}
	h := hold{
		since: last.Polling, most: s.d.PollFor,
		over: "the service has answered not-yet for longer than pollFor: ",
	}
	if h.since == 0 {
		h.since = s.at.Now
	}
	h.polling = h.since
	if h.most == 0 {
		h.most = s.d.MaxQueueTime
		h.over = "the service has answered not-yet for longer than maxQueueTime, " +
			"the limit of a step without pollFor: "
	}
	return h
}

// notNow hands a step back whose agent made no call. A request that came too late has waited in a queue (P32,
// queue time is not a failure). Any other reply says why the agent could not call (P45).
func (s step) notNow(e core.Reply) {
	if e.Code == core.CodeQueue && s.t.ProcessState != core.Error {
		s.backlog(core.QueueHeld)
		return
	}
	s.recordAttempt(e.Outcome, e.Code)
	if e.Operation == core.Do {
		s.recordNoEffect(e)
	}
	s.handBackUncounted(e)
}

// handBackUncounted hands a step back without counting a failure or a hop (P45). After pollFor the step has failed,
// and its policy applies. After maxQueueTime, and where an undo polls, the task stops for the operator under every
// policy. In Error, only the attempt ends.
func (s step) handBackUncounted(e core.Reply) {
	h := s.holdOf(e)
	held := s.at.Now.Sub(h.since)
	message := e.Message
	over := s.t.ProcessState != core.Error && held >= h.most
	if over {
		message = h.over + message
	}
	s.recordFailure(e.Code, message, e.Attempt)
	if over || s.t.ProcessState == core.Error {
		s.giveUp()
		polled := e.Code == core.CodeNotYet && e.Operation == core.Do && s.d.PollFor > 0
		if over && !polled {
			s.enterError()
		}
		return
	}
	wait := min(max(held, minHold), maxHold)
	wait += core.Duration(float64(wait) / 2 * jitter(s.t.OrderID, s.t.Run, s.Name, s.Attempt))
	wait = max(wait, min(e.RetryAfter, maxRetryAfter))
	s.handBackUncharged(s.at.Now.Add(min(wait, max(h.most-held, minHold))))
	s.Error.Since = h.since
	s.Error.Polling = h.polling // recordFailure has removed the earlier values
}

// leaveOutSilence moves the begin of a series of hand-backs by the time that a step has waited too long, because
// nothing ran (P45).
func (s step) leaveOutSilence() {
	late := s.at.Now.Sub(s.Wait.At.Add(s.def.Grace))
	if s.Wait.At == 0 || late <= 0 || !s.Uncalled() {
		return
	}
	last := *s.Error
	last.Since = last.Since.Add(late)
	s.Error = &last
}

// endHold ends a series of uncounted hand-backs. The last failure stays for people to see.
func (s *Step) endHold() {
	if s.Error != nil && s.Error.Since != 0 {
		last := *s.Error
		last.Since = 0
		last.Polling = 0
		s.Error = &last
	}
}

// retry ends a failed attempt, and delays the next one by at least the given time. A do counts the failure only if
// the task goes forward. It fails for good when its retries are used up, and a failed undo then stops the task for
// the operator.
func (s step) retry(atLeast core.Duration) {
	u := jitter(s.t.OrderID, s.t.Run, s.Name, s.Attempt)
	switch {
	case s.Claim.Undo:
		retry := s.d.Undo.Retry
		s.Failures.Undo++
		s.giveUp()
		switch {
		case s.t.ProcessState == core.Error:
		case s.Failures.Undo < retry.MaxFailures:
			s.scheduleWake(s.at.Now.Add(max(backoffWait(retry.Backoff, s.Failures.Undo, u), atLeast)))
		default:
			s.enterError()
		}
		return
	case s.t.ProcessState != core.Processing:
		s.giveUp()
		return
	}
	retry := s.d.Retry
	s.Failures.Do++
	switch {
	case s.Failures.Do >= retry.Budget():
		s.giveUp()
	case s.Failures.Do >= retry.MaxFailures: // the extended wait
		s.handBack(s.at.Now.Add(max(retry.ExtendedInterval, atLeast)))
	default:
		s.handBack(s.at.Now.Add(max(backoffWait(retry.Backoff, s.Failures.Do, u), atLeast)))
	}
}

// kindOfReply returns the kind of a reply. The function guard ignores a reply with an unknown operation or
// outcome.
func kindOfReply(e core.Reply) eventKind {
	undo := e.Operation == core.UndoOp
	switch e.Outcome {
	case core.OutcomeFailed:
		if undo {
			return undoFailed
		}
		return doFailed
	case core.OutcomeRetryLater:
		if undo {
			return undoLater
		}
		return doLater
	}
	if undo {
		return undoDone
	}
	return doDone
}
