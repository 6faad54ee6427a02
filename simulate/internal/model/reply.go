package model

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// reply applies a reply of an agent (P15, a late "done" counts).
func (m *Model) reply(r *message.Reply) {
	i := m.find(r.Step, r.Run, r.Attempt)
	m.cause = "reply/" + r.Step + "/" + strconv.Itoa(r.Attempt) + "/" + string(r.Outcome)
	if i < 0 {
		m.again()
		return
	}
	s := &m.T.Steps[i]
	isUndo, done := r.Operation == core.UndoOp, r.Outcome == core.OutcomeDone
	stale := r.Attempt < s.Attempt && (isUndo || !done) || r.Attempt == s.Attempt && s.Attempted() &&
		s.Claim.Undo != isUndo
	switch {
	case r.Outcome == message.Progress:
		m.progress(i, r, stale)
	case !m.alive() || stale, late(r) && s.State == core.Processing && s.Claim.Progress != nil:
		m.again()
	case !isUndo && done && s.Attempted() && (s.State == core.Processing || s.State == core.Pending):
		m.done(i, r)
	case isUndo && done && (s.State == core.Compensating || s.State == core.UndoWait):
		m.Changed = true
		m.end(s, core.Compensated)
		m.advance()
	case late(r) && (!isUndo && s.State == core.Processing && m.T.ProcessState == core.Processing ||
		isUndo && s.State == core.Compensating && m.T.ProcessState != core.Error):
		m.Changed = true
		m.queued(i)
	case !done && uncounted(r) && (!isUndo && s.State == core.Processing &&
		m.T.ProcessState == core.Processing || isUndo && s.State == core.Compensating):
		m.Changed = true
		m.ended(i, r.Outcome, codeOf(r))
		m.noEffect(i, r)
		m.held(i, r)
	case !isUndo && !done && s.State == core.Processing:
		m.Changed = true
		m.ended(i, r.Outcome, codeOf(r))
		m.noEffect(i, r)
		m.failed(i, r)
	case !isUndo && !done && r.NoEffect && m.Def.Steps[i].PointOfNoReturn && s.Attempted() &&
		s.NoEffect == 0 &&
		// The proof arrives after the step counted as overdue (P22a, a proven refusal permits undo).
		(s.State == core.Pending || s.State == core.Failed):
		m.Changed = true
		m.proven(s)
	case isUndo && !done && s.State == core.Compensating:
		m.Changed = true
		m.ended(i, r.Outcome, codeOf(r))
		m.undoFailed(i, min(r.RetryAfter, core.Hour))
	default:
		m.again()
	}
}

// progress applies a progress report (P43, long work reports progress). It may make the complete-by of the
// present attempt later, up to the stop-by.
func (m *Model) progress(i int, r *message.Reply, stale bool) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	switch {
	case stale, !m.alive(), s.State != core.Processing, d.MaxDuration == 0, s.Claim.StopBy <= m.Now:
		return
	case s.Claim.Progress != nil && m.Now < s.Claim.Progress.At.Add(min(30*core.Second, d.Timeout/4)) &&
		r.Until <= s.CompleteBy.Add(min(30*core.Second, d.Timeout/4)):
		return
	}
	m.Changed = true
	until := r.Until
	if until == 0 {
		until = m.Now.Add(d.Timeout)
	}
	s.CompleteBy = max(s.CompleteBy, min(until, s.Claim.StopBy))
	s.Claim.Progress = &core.StepProgress{Percent: r.Percent, Note: r.Note, At: m.Now}
	if m.notifies(core.StatusProgress) {
		m.post('p', s.Name, r.Percent, 0)
	}
}

func waiting(s *core.Step) core.State {
	if s.State == core.Compensating {
		return core.UndoWait
	}
	return core.Pending
}

// ended records an unsuccessful attempt. The task lists the last 16 attempts of all steps and counts the
// earlier ones.
func (m *Model) ended(i int, outcome core.Outcome, code string) {
	s := &m.T.Steps[i]
	m.T.Attempts.Last = append(slices.Clip(m.T.Attempts.Last),
		core.Attempt{Step: s.Name, Number: s.Attempt, Undo: s.State == core.Compensating,
			Agent: s.Claim.Agent, Began: s.Claim.At, Ended: m.Now, Outcome: outcome, Code: code})
	if len(m.T.Attempts.Last) <= 16 {
		return
	}
	m.T.Attempts.Earlier.Count(m.T.Attempts.Last[0].Outcome)
	m.T.Attempts.Last = m.T.Attempts.Last[1:]
}

func codeOf(r *message.Reply) string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

// uncounted reports whether the agent made no call that could have had an effect. Such an attempt does not
// count as a failure (P45, "not now" is not a failure).
func uncounted(r *message.Reply) bool {
	return r.Outcome == core.OutcomeRetryLater && r.Error != nil &&
		(sick(r.Error.Code) || r.Error.Code == "not-yet" || late(r))
}

// late reports whether the agent received the request too late to call (P32, queue time is not a failure).
func late(r *message.Reply) bool {
	return r.Outcome == core.OutcomeRetryLater && r.Error != nil && r.Error.Code == core.CodeQueue
}

// sick reports whether an error code means that the agent cannot use its service.
func sick(code string) bool {
	return code == "breaker-open" || code == "unauthorized" || code == "no-agent"
}

// LongestHold returns the longest time during which attempts with this error code stay uncounted (P45).
func LongestHold(d *core.StepDefinition, code string) core.Duration {
	if sick(code) || d.PollFor == 0 {
		return d.MaxQueueTime
	}
	return d.PollFor
}

// held hands a step back without a counted failure (P45), and returns the attempt to the hop budget. After
// LongestHold it stops the task instead. The model cannot compute the wait, because the wait contains jitter.
// Therefore the method wait takes the wait from the committed task.
func (m *Model) held(i int, r *message.Reply) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	most := LongestHold(d, r.Error.Code)
	since, polling := HeldSince(s)
	if since == 0 || !sick(r.Error.Code) || !sick(s.Error.Code) {
		since = m.Now
	}
	if !sick(r.Error.Code) {
		polling = cmp.Or(polling, m.Now)
		since = polling
	}
	state := waiting(s)
	switch spent := m.Now.Sub(since); {
	case m.T.ProcessState == core.Error:
		m.end(s, core.UndoWait)
	case spent >= most:
		if state == core.Pending {
			state = core.Failed
		}
		m.end(s, state)
		m.stop(m.direction())
	default:
		if state == core.Pending {
			m.T.Hops = max(0, m.T.Hops-1)
		}
		lo := min(max(spent, 2*core.Second), 5*core.Minute)
		asked, left := min(r.RetryAfter, core.Hour), max(most-spent, 2*core.Second)
		m.wait(i, state, min(max(lo, asked), left), min(max(lo*3/2, asked), left))
		s.Error = &core.StepError{Code: r.Error.Code, Attempt: r.Attempt, Since: since, Polling: polling}
	}
}

// HeldSince returns Since and Polling of the step's last failure (see core.StepError). It returns zeros if
// the step has no failure.
func HeldSince(s *core.Step) (since, polling core.Time) {
	if s.Error == nil {
		return 0, 0
	}
	return s.Error.Since, s.Error.Polling
}

// unheld ends the sequence of uncounted hand-backs of a step.
func unheld(s *core.Step) {
	if since, _ := HeldSince(s); since != 0 {
		e := *s.Error
		e.Since, e.Polling = 0, 0
		s.Error = &e
	}
}

func (m *Model) failed(i int, r *message.Reply) {
	s, going := &m.T.Steps[i], m.T.ProcessState == core.Processing
	if r.Outcome == core.OutcomeFailed {
		s.Failures.Do++
	} else if going {
		s.Failures.Do++
		if d := &m.Def.Steps[i]; s.Failures.Do < d.Retry.Budget() {
			m.handBack(i, min(r.RetryAfter, core.Hour))
			return
		}
	}
	m.end(s, core.Failed)
	m.policy(i, codeOf(r))
}

// noEffect records the reply's proof that a point of no return had no effect (P22a).
func (m *Model) noEffect(i int, r *message.Reply) {
	if r.NoEffect && m.Def.Steps[i].PointOfNoReturn {
		m.proven(&m.T.Steps[i])
	}
}

// proven records a proof that the claim of a step had no effect (P22a). If the task is in Error, the
// recorded time is later than End.At, the time of the Error. A repeated report of the Error leaves out proofs
// after End.At, because it must have the same content as the first report.
func (m *Model) proven(s *core.Step) {
	if s.NoEffect != 0 {
		return
	}
	s.NoEffect = m.Now
	if m.T.ProcessState == core.Error && m.Now <= m.T.End.At {
		s.NoEffect = m.T.End.At + 1
	}
}

func (m *Model) finish(i int, output json.RawMessage) {
	s := &m.T.Steps[i]
	m.end(s, core.Processed)
	s.Output, s.Finish.At = output, m.Now
	s.NoEffect, s.Claim.Allowance = 0, 0 // clear the allowance (P32, queue time is not a failure)
	if m.T.ProcessState != core.Error {  // the status "failed" of an Error is the last one
		m.notifyFinished(s)
	}
}

// handBack hands a step back with a counted failure (P9a, a waiting step has two times). The model cannot
// compute the wait, because the wait contains jitter. Therefore the method wait takes the wait from the
// committed task.
func (m *Model) handBack(i int, atLeast core.Duration) {
	s, retry := &m.T.Steps[i], m.Def.Steps[i].Retry
	lo, hi := retry.ExtendedInterval, retry.ExtendedInterval
	if s.Failures.Do < retry.MaxFailures {
		lo, hi = spanOf(retry.Backoff, s.Failures.Do)
	}
	m.wait(i, core.Pending, max(lo, atLeast), max(hi, atLeast))
}

// spanOf returns the shortest and the longest duration of the n-th backoff.
func spanOf(b core.Backoff, n int) (lo, hi core.Duration) {
	d := float64(b.Initial)
	for range n - 1 {
		d *= b.Multiplier
	}
	d = min(d, float64(b.Max))
	return core.Duration(d*(1-b.Jitter)) - 1, core.Duration(d) + 1
}

func (m *Model) undoFailed(i int, atLeast core.Duration) {
	s, retry := &m.T.Steps[i], m.Def.Steps[i].Undo.Retry
	s.Failures.Undo++
	switch {
	case m.T.ProcessState == core.Error:
		m.end(s, core.UndoWait)
	case s.Failures.Undo < retry.MaxFailures:
		lo, hi := spanOf(retry.Backoff, s.Failures.Undo)
		m.wait(i, core.UndoWait, max(lo, atLeast), max(hi, atLeast))
	default:
		m.end(s, core.UndoWait)
		m.stop(m.direction())
	}
}

// done applies the outcome done of a do. If the output is too large, the result depends on the task:
//   - If the task does not go forward, the step ends without its output (P24, an undo needs no output).
//   - If the task goes forward, and the reply belongs to the present attempt, the step fails (P28, what is
//     too large fails once).
//   - If the task goes forward, and the reply belongs to an earlier attempt, done removes only a proof of no
//     effect.
func (m *Model) done(i int, r *message.Reply) {
	s := &m.T.Steps[i]
	if m.holds(i, r.Output) {
		m.Changed = true
		m.finish(i, r.Output)
		m.advance()
		return
	}
	earlier := r.Attempt < s.Attempt
	m.Changed = !earlier || m.T.ProcessState != core.Processing || s.NoEffect != 0
	s.NoEffect = 0
	switch {
	case !m.Changed:
		m.again()
	case m.T.ProcessState != core.Processing:
		m.finish(i, nil)
		m.advance()
	case !earlier:
		if s.State == core.Processing { // a step that was handed back has already recorded its attempt
			s.Failures.Do++
			m.ended(i, core.OutcomeFailed, "output-too-large")
		}
		m.end(s, core.Failed)
		m.policy(i, "output-too-large")
	}
}
