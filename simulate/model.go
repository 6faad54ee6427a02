package simulate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// model is the protocol a second time, in its plainest form and written from its text: what one
// event makes of one task. Every commit of the real actors is held against it, and so is every
// message that was deleted although nothing was committed for it.
//
// Where the protocol leaves a choice (jitter, a resend time within a range) the model takes what the
// real task has, if it is within the rule.
type model struct {
	def      *core.Definition
	defs     []*core.Definition // all that a task may be moved to
	latest   *core.Definition   // that new orders get
	key      string             // of tokens, that new orders get (P39)
	t        *core.Task         // its own copy
	real     *core.Task         // what was committed; nil where nothing was
	now      core.Time
	by       string
	cause    string
	content  []byte // of the order
	sweeping bool   // the Supervisor decides: it claims nothing
	waits    map[string]core.Duration
	// another order of the same batch may have taught the instance a wait meanwhile
	loose   bool
	backlog func(queue string) bool // more waits in it than is taken at a time, or its agent takes nothing
	unasked string                  // a queue that was not asked for that
	direct  bool                    // it was asked without a queue, and gets the answer
	expired bool                    // the order came to rest, and its record has expired (P26)
	room    room
	fresh   bool // the event was not handled before: it has nothing to send again (P12a)

	mails   []mail
	changed bool
	ahead   bool // the message is ahead of the document: it must stay (P8)
	refused bool // its sender is to be notified
}

// mail is a message, or an alert, that must have been sent.
type mail struct {
	// request, wake, settle, status, status of an undo that waits, of progress, alert: r w s t u p a
	kind    byte
	step    string
	attempt int // or the number of the status, or the percent of progress
	wakeAt  core.Time
}

func copyOf(t *core.Task) *core.Task {
	if t == nil {
		return nil
	}
	c := *t
	c.Steps = slices.Clone(t.Steps)
	return &c
}

func (m *model) post(kind byte, step string, attempt int, wakeAt core.Time) {
	m.mails = append(m.mails, mail{kind, step, attempt, wakeAt})
}

// take lets the model take one event. It answers the rule that the event falls under.
func (m *model) take(ev any) (rule string) {
	switch e := ev.(type) {
	case *message.SubmitOrder:
		m.cause = "submit"
		m.submit(e)
		return "P14"
	case *message.Reply:
		m.reply(e)
		return "P15"
	case *message.Control:
		return m.control(e)
	}
	return ""
}

func (m *model) control(c *message.Control) string {
	switch c.Kind {
	case message.Wake:
		m.cause = "wake/" + c.Step + "/" + strconv.Itoa(c.Attempt)
		m.wake(c)
		return "P9a"
	case message.Settle:
		m.settle()
		return "P11"
	}
	if c.Kind == message.Answer {
		m.cause = causeOfAnswer(c)
		m.answer(c)
		return "P36"
	}
	m.cause = string(c.Kind) + "/" + strconv.Itoa(c.Command)
	if c.Kind == message.Cancel {
		m.cause = "cancel/" + strconv.Itoa(c.Run)
	}
	m.command(c)
	switch c.Kind {
	case message.Cancel:
		return "P17"
	case message.Close:
		return "P48"
	case message.Erase:
		return "P52"
	case message.Move:
		return "P49"
	}
	return "P18"
}

func (m *model) alive() bool { return m.t != nil && !m.t.Terminal() }

// find looks a step up for a reply or a Wake: -1 where it changes nothing.
func (m *model) find(step string, run, attempt int) int {
	if m.t == nil {
		return -1
	}
	i := slices.IndexFunc(m.t.Steps, func(s core.Step) bool { return s.Name == step })
	switch {
	case i < 0:
		return -1
	case run > m.t.Run, run == m.t.Run && attempt > m.t.Steps[i].Attempt:
		m.ahead = true
		return -1
	case run < m.t.Run || attempt < 1:
		return -1
	}
	return i
}

// reply: P15, and the rows after it.
func (m *model) reply(r *message.Reply) {
	i := m.find(r.Step, r.Run, r.Attempt)
	m.cause = "reply/" + r.Step + "/" + strconv.Itoa(r.Attempt) + "/" + string(r.Outcome)
	if i < 0 {
		m.again()
		return
	}
	s := &m.t.Steps[i]
	isUndo, done := r.Operation == core.UndoOp, r.Outcome == core.OutcomeDone
	stale := r.Attempt < s.Attempt && (isUndo || !done) || r.Attempt == s.Attempt && s.Attempted() &&
		s.Undo != isUndo
	switch {
	case r.Outcome == message.Progress:
		m.progress(i, r, stale)
	case !m.alive() || stale:
		m.again()
	case !isUndo && done && s.Attempted() && (s.State == core.Processing || s.State == core.Pending):
		m.done(i, r)
	case isUndo && done && (s.State == core.Compensating || s.State == core.UndoWait):
		m.changed = true
		m.end(s, core.Compensated)
		m.advance()
	case !done && uncounted(r) && (!isUndo && s.State == core.Processing &&
		m.t.ProcessState == core.Processing || isUndo && s.State == core.Compensating):
		m.changed = true
		m.ended(i, r.Outcome, codeOf(r))
		m.noEffect(i, r)
		m.held(i, r)
	case !isUndo && !done && s.State == core.Processing:
		m.changed = true
		m.ended(i, r.Outcome, codeOf(r))
		m.noEffect(i, r)
		m.failed(i, r)
	case !isUndo && !done && r.NoEffect && m.def.Steps[i].PointOfNoReturn && s.Attempted() &&
		s.NoEffect == 0 &&
		(s.State == core.Pending || s.State == core.Failed): // P22a: after its Overdue
		m.changed = true
		m.proven(s)
	case isUndo && !done && s.State == core.Compensating:
		m.changed = true
		m.ended(i, r.Outcome, codeOf(r))
		m.undoFailed(i, min(r.RetryAfter, core.Hour))
	default:
		m.again()
	}
}

// progress: P43. It moves the complete-by of the present attempt, never back, never past its stopBy.
func (m *model) progress(i int, r *message.Reply, stale bool) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	switch {
	case stale, !m.alive(), s.State != core.Processing, d.MaxDuration == 0, s.StopBy <= m.now:
		return
	case s.Progress != nil && m.now < s.Progress.At.Add(min(30*core.Second, d.Timeout/4)) &&
		r.Until <= s.CompleteBy.Add(min(30*core.Second, d.Timeout/4)):
		return
	}
	m.changed = true
	until := r.Until
	if until == 0 {
		until = m.now.Add(d.Timeout)
	}
	s.CompleteBy = max(s.CompleteBy, min(until, s.StopBy))
	s.Progress = &core.StepProgress{Percent: r.Percent, Note: r.Note, At: m.now}
	if m.notifies(core.StatusProgress) {
		m.post('p', s.Name, r.Percent, 0)
	}
}

// ended: an attempt that did not end done is kept, the last 16 of them, and those before are counted.
func (m *model) ended(i int, outcome core.Outcome, code string) {
	s := &m.t.Steps[i]
	m.t.Attempts = append(slices.Clip(m.t.Attempts),
		core.Attempt{Step: s.Name, Number: s.Attempt, Undo: s.State == core.Compensating,
			Agent: s.Agent, Began: s.ClaimedAt, Ended: m.now, Outcome: outcome, Code: code})
	if len(m.t.Attempts) <= 16 {
		return
	}
	n := map[core.Outcome]*int{core.OutcomeFailed: &m.t.Earlier.Failed,
		core.OutcomeRetryLater: &m.t.Earlier.Later,
		core.OutcomeOverdue:    &m.t.Earlier.Overdue, core.OutcomeSuperseded: &m.t.Earlier.Superseded}
	*n[m.t.Attempts[0].Outcome]++
	m.t.Attempts = m.t.Attempts[1:]
}

func codeOf(r *message.Reply) string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

// uncounted is a reply of an agent that made no call which could have had an effect (P45).
func uncounted(r *message.Reply) bool {
	return r.Outcome == core.OutcomeRetryLater && r.Error != nil &&
		(sick(r.Error.Code) || r.Error.Code == "not-yet")
}

// sick is the code of an agent that cannot use its service.
func sick(code string) bool { return code == "breaker-open" || code == "unauthorized" }

// longestHold is how long a step may be handed back again and again for a code (P45).
func longestHold(d *core.StepDefinition, code string) core.Duration {
	if sick(code) || d.PollFor == 0 {
		return d.MaxQueueTime
	}
	return d.PollFor
}

// held: P45, handed back uncounted: no failure, no hop. The jitter is free.
func (m *model) held(i int, r *message.Reply) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	most := longestHold(d, r.Error.Code)
	since, polling := m.now, core.Time(0)
	if sinceOf(s) != 0 {
		polling = s.Error.Polling
		if sick(r.Error.Code) && sick(s.Error.Code) {
			since = s.Error.Since
		}
	}
	if !sick(r.Error.Code) {
		if polling == 0 {
			polling = m.now
		}
		since = polling
	}
	state := core.Pending
	if s.State == core.Compensating {
		state = core.UndoWait
	}
	switch spent := m.now.Sub(since); {
	case m.t.ProcessState == core.Error:
		m.end(s, core.UndoWait)
	case spent >= most:
		if state == core.Pending {
			state = core.Failed
		}
		m.end(s, state)
		m.stop(m.direction())
	default:
		if state == core.Pending {
			m.t.Hops = max(0, m.t.Hops-1)
		}
		lo := min(max(spent, 2*core.Second), 5*core.Minute)
		asked, left := min(r.RetryAfter, core.Hour), max(most-spent, 2*core.Second)
		m.wait(i, state, min(max(lo, asked), left), min(max(lo*3/2, asked), left))
		s.Error = &core.StepError{Code: r.Error.Code, Attempt: r.Attempt, Since: since, Polling: polling}
	}
}

// sinceOf is since when a step has been handed back again and again, uncounted (P45).
func sinceOf(s *core.Step) core.Time {
	if s.Error == nil {
		return 0
	}
	return s.Error.Since
}

// pollingOf is since when its service has answered "not yet" (P45).
func pollingOf(s *core.Step) core.Time {
	if s.Error == nil {
		return 0
	}
	return s.Error.Polling
}

// unheld ends what began with the first of those hand-backs.
func unheld(s *core.Step) {
	if sinceOf(s) != 0 {
		e := *s.Error
		e.Since, e.Polling = 0, 0
		s.Error = &e
	}
}

func (m *model) failed(i int, r *message.Reply) {
	s, going := &m.t.Steps[i], m.t.ProcessState == core.Processing
	if r.Outcome == core.OutcomeFailed {
		s.FailureCount++
	} else if going {
		s.FailureCount++
		if d := &m.def.Steps[i]; s.FailureCount < d.Retry.Budget() {
			m.handBack(i, min(r.RetryAfter, core.Hour))
			return
		}
	}
	m.end(s, core.Failed)
	m.policy(i, codeOf(r))
}

// policy: P19, and P42 of a step that the task goes on without.
func (m *model) policy(i int, code string) {
	if (m.def.Steps[i].OnFailure == core.OnFailureContinue || m.needless(m.def.Steps[i].Name)) &&
		m.t.ProcessState == core.Processing {
		m.goOn(i, code)
		return
	}
	m.policyOf(m.def.Steps[i].OnFailure)
}

// goOn: P42. The step alone is undone; without a claim there is nothing to undo.
func (m *model) goOn(i int, code string) {
	s := &m.t.Steps[i]
	s.FailureCode = code
	switch {
	case s.First == 0:
		m.end(s, core.Compensated)
	case m.sweeping:
		m.end(s, core.UndoWait)
		m.ask(s)
	default:
		m.end(s, core.UndoWait)
		if m.undo(i) {
			m.advance()
		}
	}
}

// direction is that of the task, forward or in undo (P42).
func (m *model) direction() core.Phase {
	if m.t.ProcessState == core.Compensating {
		return core.Undoing
	}
	return core.Forward
}

// passed: what comes after the step may begin, and the task may end (P20, P42).
func passed(s *core.Step) bool {
	return s.State == core.Processed || s.State == core.Skipped || s.State == core.Compensated
}

func (m *model) policyOf(policy core.Policy) {
	switch {
	case m.t.ProcessState == core.Compensating:
		m.advance()
	case m.t.ProcessState != core.Processing:
	case policy == core.OnFailureStop || m.pastReturn():
		m.stop(core.Forward)
	default:
		m.t.ProcessState, m.t.Why = core.Compensating, core.WhyFailure
		m.advance()
	}
}

// noEffect: P22a.
func (m *model) noEffect(i int, r *message.Reply) {
	if r.NoEffect && m.def.Steps[i].PointOfNoReturn {
		m.proven(&m.t.Steps[i])
	}
}

// proven: P22a. What an Error was reported with is sent again, so that what is learnt in it is later.
func (m *model) proven(s *core.Step) {
	if s.NoEffect != 0 {
		return
	}
	s.NoEffect = m.now
	if m.t.ProcessState == core.Error && m.now <= m.t.Ended {
		s.NoEffect = m.t.Ended + 1
	}
}

func (m *model) pastReturn() bool { return pastReturn(m.def, m.t) }

// pastReturn: a point of no return was claimed, and nothing proves since then that it had no effect (P22,
// P22a).
func pastReturn(def *core.Definition, t *core.Task) bool {
	for i := range t.Steps {
		if s := &t.Steps[i]; def.Steps[i].PointOfNoReturn && s.Attempted() && s.NoEffect == 0 {
			return true
		}
	}
	return false
}

// end ends a claim or a wait.
func (m *model) end(s *core.Step, state core.State) {
	earlier(s)
	s.State, s.LockedBy, s.Cause, s.CompleteBy, s.StopBy, s.WakeAt, s.Progress = state, "", "", 0, 0, 0, nil
	unheld(s)
}

// earlier counts the present attempt among those before (P21).
func earlier(s *core.Step) {
	by := &s.QuietBy
	if s.Undo {
		by = &s.UndoStopBy
	}
	*by = max(*by, s.StopBy)
}

func (m *model) finish(i int, output json.RawMessage) {
	s := &m.t.Steps[i]
	m.end(s, core.Processed)
	s.Output, s.FinishedAt = output, m.now
	s.NoEffect, s.Allowance = 0, 0      // P32
	if m.t.ProcessState != core.Error { // the number of "failed" stays the highest
		m.notifyFinished(s)
	}
}

func (m *model) notifyFinished(s *core.Step) {
	if m.notifies(core.StatusStepFinished) {
		m.t.StatusSeq++
		s.FinishSeq, s.FinishCause = m.t.StatusSeq, m.cause
		m.post('t', "", s.FinishSeq, 0)
	}
}

func (m *model) notifies(kind core.StatusKind) bool {
	// what ends an order that has failed goes where the failure was reported (P48)
	if kind == core.StatusClosed {
		kind = core.StatusFailed
	}
	return m.t.ReplyTo != "" && slices.Contains(m.def.Notify, kind)
}

// handBack: P9a. The backoff's jitter is free.
func (m *model) handBack(i int, atLeast core.Duration) {
	s, retry := &m.t.Steps[i], m.def.Steps[i].Retry
	lo, hi := retry.ExtendedInterval, retry.ExtendedInterval
	if s.FailureCount < retry.MaxFailures {
		lo, hi = spanOf(retry.Backoff, s.FailureCount)
	}
	m.wait(i, core.Pending, max(lo, atLeast), max(hi, atLeast))
}

// spanOf is between what and what the n-th backoff lies.
func spanOf(b core.Backoff, n int) (lo, hi core.Duration) {
	d := float64(b.Initial)
	for range n - 1 {
		d *= b.Multiplier
	}
	d = min(d, float64(b.Max))
	return core.Duration(d*(1-b.Jitter)) - 1, core.Duration(d) + 1
}

// realStep is the i-th step as it was committed.
func (m *model) realStep(i int) *core.Step {
	if s := m.real.Step(m.t.Steps[i].Name); s != nil {
		return s
	}
	return &core.Step{}
}

// wait puts a step off by something between lo and hi (P9a).
func (m *model) wait(i int, state core.State, lo, hi core.Duration) {
	s := &m.t.Steps[i]
	m.end(s, state)
	s.WakeAt = m.now.Add(hi)
	if m.real != nil {
		if at := m.realStep(i).WakeAt; at >= m.now.Add(lo) && at <= m.now.Add(hi) {
			s.WakeAt = at
		}
	}
	s.CompleteBy = s.WakeAt.Add(m.def.Grace)
	m.post('w', s.Name, s.Attempt, s.WakeAt)
}

func (m *model) undoFailed(i int, atLeast core.Duration) {
	s, retry := &m.t.Steps[i], m.def.Steps[i].Undo.Retry
	s.UndoFailures++
	switch {
	case m.t.ProcessState == core.Error:
		m.end(s, core.UndoWait)
	case s.UndoFailures < retry.MaxFailures:
		lo, hi := spanOf(retry.Backoff, s.UndoFailures)
		m.wait(i, core.UndoWait, max(lo, atLeast), max(hi, atLeast))
	default:
		m.end(s, core.UndoWait)
		m.stop(m.direction())
	}
}

// wake: the row Wake of section 4.
func (m *model) wake(c *message.Control) {
	if m.t == nil || c.Step == "" {
		switch {
		case m.t == nil:
		case c.Run > m.t.Run && m.t.ProcessState == core.Compensating:
			m.ahead = true
		case c.Run == m.t.Run && m.t.ProcessState == core.Compensating:
			m.changed = m.advance()
		}
		if !m.changed {
			m.again()
		}
		return
	}
	i := m.find(c.Step, c.Run, c.Attempt)
	if i < 0 || c.Attempt < m.t.Steps[i].Attempt {
		m.again()
		return
	}
	s := &m.t.Steps[i]
	switch {
	case m.t.ProcessState == core.Processing && s.State == core.Pending && s.Attempted() && m.now >= s.WakeAt:
		m.changed = true
		if m.needless(s.Name) { // P38
			m.forward()
			return
		}
		if m.mayForget(i) {
			m.end(s, core.Failed)
			m.stop(core.Forward)
			return
		}
		m.claim(i)
	case m.t.ProcessState == core.Processing && s.State == core.Waiting && m.now >= nextLook(m.def, m.t, i):
		// P34
		m.changed = true
		if m.def.Steps[i].Answer != nil {
			m.lookAtAnswers(i)
			if s.State == core.Waiting && m.remind(i) {
				m.leaveTime(i)
			}
		} else {
			m.finish(i, nil)
		}
		m.advance()
	case m.t.ProcessState == core.Processing && s.State == core.UndoWait && m.now >= s.WakeAt: // P42
		m.changed = true
		if m.undo(i) {
			m.advance()
		}
	case m.t.ProcessState == core.Compensating && (s.State == core.Waiting || s.State == core.Pending ||
		s.State == core.Failed || s.State == core.UndoWait):
		m.changed = m.advance()
	}
	if !m.changed {
		m.again()
	}
}

// settle: P11.
func (m *model) settle() {
	if m.t == nil || m.t.ResendAt == 0 {
		return
	}
	m.cause, m.fresh = m.t.EndCause, false // it is what is asked for
	m.again()
}

// advance: P20. It answers whether anything changed.
func (m *model) advance() bool {
	switch m.t.ProcessState {
	case core.Processing:
		return m.forward()
	case core.Compensating:
		return m.backward()
	}
	return false
}

func (m *model) ready(i int) bool {
	if s := &m.t.Steps[i]; s.State != core.Pending || s.Attempted() {
		return false
	}
	for _, name := range m.def.Steps[i].After {
		if !passed(m.t.Step(name)) && !m.answeredBeforeAsk(i, name) {
			return false
		}
	}
	return true
}

// forward goes on to a fixpoint, and claims what is ready with the steps given.
func (m *model) forward(again ...int) bool {
	changed := false
	for {
		skipped := false
		// one that has failed meanwhile is not claimed (P42)
		claims := slices.DeleteFunc(slices.Clone(again), func(i int) bool {
			return m.t.Steps[i].State != core.Pending && m.t.Steps[i].State != core.Failed
		})
		for i := range m.t.Steps {
			// P38
			if s := &m.t.Steps[i]; m.needless(s.Name) && (s.State == core.Failed || s.State == core.Pending &&
				s.Attempted()) {
				s.FailureCode = core.CodeOvertaken
				m.end(s, core.Compensated)
				skipped, changed = true, true
				continue
			}
			if !m.ready(i) {
				continue
			}
			if m.needless(m.def.Steps[i].Name) {
				m.t.Steps[i].State, skipped, changed = core.Skipped, true, true
				continue
			}
			if when := m.def.Steps[i].When; when != "" {
				yes, err := m.def.Expr.When(i, m.environment(i))
				if err != nil {
					m.end(&m.t.Steps[i], core.Failed)
					if m.policy(i, "expression"); m.t.ProcessState != core.Processing {
						return true
					}
					skipped, changed = true, true
					continue
				}
				if !yes {
					m.t.Steps[i].State, skipped, changed = core.Skipped, true, true
					continue
				}
			}
			claims = append(claims, i)
		}
		if skipped {
			continue
		}
		ended := m.claim(claims...)
		changed = changed || len(claims) > 0
		if !ended || m.t.ProcessState != core.Processing {
			break
		}
	}
	if m.t.ProcessState != core.Processing {
		return true
	}
	for i := range m.t.Steps {
		if !passed(&m.t.Steps[i]) {
			return changed
		}
	}
	m.enter(core.Processed, "")
	return true
}

func (m *model) environment(i int) core.Environment {
	env := core.Environment{OrderID: m.t.OrderID, Run: m.t.Run, Order: m.content,
		Outputs: map[string]json.RawMessage{}, Failures: map[string]string{}}
	env.Token = func(step, person string) (string, error) { // P39: made again with the key that the order has
		return laterKeys.Token(m.t.TokenKey, m.t.OrderID,
			core.TokenOf{Run: m.t.Run, Step: step, Person: person})
	}
	m.outcomes(i, env)
	return env
}

func (m *model) outcomes(i int, into core.Environment) {
	for _, name := range m.def.Steps[i].After {
		if s := m.t.Step(name); m.askFor(name) == nil { // no expression sees what an ask came to (P38)
			if s.Output != nil {
				into.Outputs[name] = s.Output
			}
			if s.FailureCode != "" {
				into.Failures[name] = s.FailureCode
			}
		}
		m.outcomes(m.def.Index(name), into)
	}
}

// claim: P1, P3, P6, P23. An input that fails is a failure of its step, before any of them is claimed. Waits
// that are over at once come before all others, which are claimed when those have ended (P34).
func (m *model) claim(steps ...int) (ended bool) {
	for _, i := range steps {
		if m.def.Steps[i].Fail != nil { // P50: its turn is its failure, without a claim
			m.end(&m.t.Steps[i], core.Failed)
			m.policy(i, "")
			return false
		}
		if m.def.Steps[i].Wait != nil {
			if _, _, ok := m.spanOfWait(i); !ok {
				m.end(&m.t.Steps[i], core.Failed)
				m.policy(i, "")
				return false
			}
			ended = ended || m.overAtOnce(i)
			continue
		}
		if m.def.Steps[i].Answer != nil {
			if _, _, ok := m.asked(i); !ok {
				m.end(&m.t.Steps[i], core.Failed)
				m.policy(i, "")
				return false
			}
			ended = ended || m.overAtOnce(i)
			continue
		}
		if in := m.def.Steps[i].Input; in != nil && m.t.Steps[i].Corrected == nil {
			if _, err := m.def.Expr.Input(i, m.environment(i)); err != nil {
				m.end(&m.t.Steps[i], core.Failed)
				m.policy(i, "expression")
				return m.t.ProcessState == core.Processing // P42: the others are looked at again
			}
		}
	}
	for _, i := range steps {
		if ended && !m.overAtOnce(i) {
			continue
		}
		s := &m.t.Steps[i]
		if m.t.Hops >= m.def.HopBudget {
			state := s.State
			m.end(s, state)
			m.stop(core.Forward)
			return false
		}
		m.t.Hops++
		if m.def.Steps[i].Wait != nil {
			m.claimWait(i)
			continue
		}
		if m.def.Steps[i].Answer != nil {
			if m.claimAnswer(i); m.t.ProcessState != core.Processing {
				return false
			}
			continue
		}
		m.claimOne(i, false)
	}
	return ended
}

func (m *model) claimOne(i int, undo bool) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	s.Agent = m.route(i)
	s.Attempt++
	earlier(s)
	s.Undo, s.State, s.LockedBy, s.Cause, s.NoEffect = undo, core.Processing, m.by, m.cause, 0
	timeout := d.Timeout
	if undo {
		s.State, timeout = core.Compensating, d.Undo.Timeout
	}
	m.first(s)
	s.Allowance = m.allowance(i)
	known := m.knownUntil(i)
	s.ClaimedAt, s.WakeAt = m.now, 0
	s.StopBy, s.Progress = m.now.Add(timeout+s.Allowance), nil
	if !undo {
		s.StopBy = min(m.now.Add(max(timeout, d.MaxDuration)+s.Allowance), max(known, m.now.Add(timeout)))
	}
	s.CompleteBy = min(s.StopBy, m.now.Add(timeout+s.Allowance))
	m.post('r', s.Name, s.Attempt, 0)
}

// route: another agent than those whose attempts were not done lately, and the first whose wait none beats by
// 20 % (P44).
func (m *model) route(i int) string {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	names := d.AllAgents()
	for k := 1; k <= len(d.Others); k++ {
		for _, a := range m.t.Attempts {
			if a.Step == s.Name && a.Number == s.Attempt+1-k && a.Outcome != core.OutcomeSuperseded {
				failed := cmp.Or(a.Agent, d.Agent)
				names = slices.DeleteFunc(names, func(name string) bool { return name == failed })
			}
		}
	}
	least := names[0]
	for _, name := range names[1:] {
		if 10*max(m.waits[name], 100) < 8*max(m.waits[least], 100) {
			least = name
		}
	}
	if real := ""; m.loose && m.real != nil && len(d.Others) > 0 {
		if real = d.AskedAgent(m.realStep(i)); slices.Contains(names, real) {
			least = real
		}
	}
	if least == d.Agent {
		return ""
	}
	return least
}

// first: P7.
func (m *model) first(s *core.Step) {
	if s.First != 0 {
		s.FirstAt = s.FirstClaim()
		return
	}
	for _, other := range m.t.Steps {
		s.First = max(s.First, other.First)
	}
	s.First++
}

// allowance: P32.
func (m *model) allowance(i int) core.Duration {
	d := &m.def.Steps[i]
	agent := d.AskedAgent(&m.t.Steps[i])
	least := m.def.Agents[agent].QueueAllowance
	most := max(d.MaxQueueTime, least)
	a := min(max(m.t.Steps[i].Allowance, least, 2*m.waits[agent]), most)
	if m.loose && m.real != nil {
		if r := m.realStep(i).Allowance; r >= min(max(m.t.Steps[i].Allowance, least), most) && r <= most {
			return r
		}
	}
	return a
}

// backward undoes all that was attempted, latest first claim first (P7, P20, P21).
func (m *model) backward() (changed bool) {
	for {
		i := -1
		for k := range m.t.Steps {
			if s := &m.t.Steps[k]; s.Attempted() && s.State != core.Compensated &&
				(i < 0 || s.First > m.t.Steps[i].First) {
				i = k
			}
		}
		if i < 0 {
			state := core.Compensated
			if m.t.CancelAsked {
				state = core.Cancelled
			}
			m.enter(state, "")
			return true
		}
		s, d := &m.t.Steps[i], &m.def.Steps[i]
		if s.State == core.Compensating || s.State == core.UndoWait && m.now < s.WakeAt ||
			s.State == core.Processing && (d.Undo == nil || d.Grade != core.Fenced) {
			return changed
		}
		if !m.undo(i) {
			return true
		}
		changed = true
	}
}

// undo is the undo of one step by the rules of its grade; it reports that the step is undone by that.
func (m *model) undo(i int) (done bool) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	quiet := s.Quiet().Add(m.def.Agents[d.Agent].ClockSkew)
	switch {
	case d.Undo == nil:
		m.end(s, core.Compensated)
		return true
	case d.Grade != core.Fenced && m.now <= quiet:
		wait := quiet.Sub(m.now) + 1
		m.wait(i, core.UndoWait, wait, wait)
		if m.notifies(core.StatusUndoing) {
			m.post('u', s.Name, 0, s.WakeAt)
		}
	default:
		m.claimUndo(i)
	}
	return false
}

func (m *model) claimUndo(i int) {
	if m.t.Steps[i].State == core.Processing { // its service has a fence
		m.ended(i, core.OutcomeSuperseded, "")
	}
	env := m.environment(i)
	if s := &m.t.Steps[i]; s.Output != nil {
		env.Outputs[s.Name] = s.Output
	}
	if s := &m.t.Steps[i]; s.FailureCode != "" {
		env.Failures[s.Name] = s.FailureCode
	}
	if d := &m.def.Steps[i]; d.Undo.Input != nil {
		if _, err := m.def.Expr.UndoInput(i, env); err != nil {
			m.end(&m.t.Steps[i], core.UndoWait)
			m.stop(m.direction())
			return
		}
	}
	m.claimOne(i, true)
}

// stop is Error. The times of waiting steps are cleared (P9).
func (m *model) stop(phase core.Phase) {
	for i := range m.t.Steps {
		s := &m.t.Steps[i]
		s.NoEffect = min(s.NoEffect, m.now)
		switch {
		case s.State == core.Waiting: // it ends when it would have (P33)
			s.CompleteBy = 0
		case waits(s):
			s.WakeAt, s.CompleteBy = 0, 0
		}
	}
	m.enter(core.Error, phase)
}

func waits(s *core.Step) bool {
	return s.State == core.Pending && s.Attempted() || s.State == core.Failed || s.State == core.UndoWait ||
		s.State == core.Waiting
}

var endKinds = map[core.State]core.StatusKind{core.Processed: core.StatusCompleted,
	core.Error:       core.StatusFailed,
	core.Compensated: core.StatusUndone, core.Cancelled: core.StatusCancelled, core.Closed: core.StatusClosed}

// enter is an end, or Error: what is to be reported, and by when (P11).
func (m *model) enter(state core.State, phase core.Phase) {
	t := m.t
	t.ProcessState, t.Phase, t.Ended, t.EndCause, t.EndSeq, t.EndCommand, t.ResendAt = state, phase, m.now,
		m.cause, 0, 0, 0
	if m.notifies(endKinds[state]) {
		t.StatusSeq++
		t.EndSeq = t.StatusSeq
	}
	if alerts(m.def, t) {
		t.EndCommand = t.Command
	}
	if t.EndSeq > 0 || alerts(m.def, t) {
		t.ResendAt = m.resendTime()
	}
	m.announce()
}

func (m *model) resendTime() core.Time {
	lo := m.now.Add(m.def.ResendAfter)
	if m.real != nil && m.real.ResendAt >= lo && m.real.ResendAt <= lo.Add(m.def.ResendAfter) {
		return m.real.ResendAt
	}
	return lo
}

func (m *model) announce() {
	if m.sweeping && m.t.EndSeq > 0 {
		m.post('s', "", 0, 0)
		return
	}
	if m.t.EndSeq > 0 {
		m.post('t', "", m.t.EndSeq, 0)
	}
	if alerts(m.def, m.t) {
		m.post('a', "", 0, m.t.Ended)
	}
}

// alerts: the operator is notified of an Error, and of an order that a failure has undone where its workflow
// says so (P11).
func alerts(def *core.Definition, t *core.Task) bool {
	undone := t.ProcessState == core.Compensated && t.Why == core.WhyFailure
	return t.ProcessState == core.Error || undone && def != nil && def.AlertUndone
}

// again is what a redelivered message emits again (P12).
func (m *model) again() {
	t := m.t
	if t == nil || m.def == nil || m.cause == "" || m.ahead || t.IsTombstone() || t.Erased != nil || m.fresh {
		return
	}
	if t.StartSeq > 0 && t.StartCause == m.cause {
		m.post('t', "", t.StartSeq, 0)
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.FinishSeq > 0 && s.FinishCause == m.cause {
			m.post('t', "", s.FinishSeq, 0)
		}
	}
	if t.EndCause == m.cause && (t.Terminal() || t.ProcessState == core.Error) {
		m.announce()
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Cause == m.cause && stands(t, s) {
			m.mails = append(m.mails, ofClaim(m.def, t, i, m.now)...)
		}
	}
}

// stands: a claim whose request, or Wake, may be sent again (P12).
func stands(t *core.Task, s *core.Step) bool {
	return s.State == core.Compensating || (s.State == core.Processing || s.State == core.Waiting) &&
		t.ProcessState == core.Processing
}

// ofClaim is what a claim, or the last reminder, sends.
func ofClaim(def *core.Definition, t *core.Task, i int, now core.Time) []mail {
	s := &t.Steps[i]
	if s.State != core.Waiting {
		return []mail{{kind: 'r', step: s.Name, attempt: s.Attempt}}
	}
	return append(reminder(def, t, i, now),
		mail{kind: 'w', step: s.Name, attempt: s.Attempt, wakeAt: nextLook(def, t, i)})
}
