package simulate

import (
	"cmp"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// rules holds a commit to what the protocol says of what one event makes of a task, as far as the two documents show
// it. What a batch did shows its sum only.
func (m *move) rules() {
	t := m.after
	if t.IsTombstone() {
		return
	}
	m.entering()
	m.goesForward()
	m.deadline()
	if m.before == nil {
		return
	}
	if m.supervisor {
		m.supervised()
	} else {
		m.goesBack()
	}
	m.accepted()
	hops, over := 0, 0
	for i := range t.Steps {
		if m.was(t.Steps[i].Name).InFlight() && !t.Steps[i].InFlight() {
			over++
		}
	}
	for i := range t.Steps {
		s, d, was := &t.Steps[i], &m.def.Steps[i], m.was(t.Steps[i].Name)
		if s.Attempt == was.Attempt+1 {
			m.claim(was, s, d)
			if !s.Undo {
				hops++
			}
		}
		if d.Answer != nil {
			m.answered(i, was)
		}
		m.proof(was, s)
		if m.event != nil || m.supervisor && over == 1 {
			m.held(was, s, d)
			m.outcome(was, s, d)
			m.policy(was, s, d)
		}
	}
	if m.event != nil && !m.commanded && hops > 0 && t.ProcessState != core.Compensating && t.Hops != m.before.Hops+hops {
		m.fail("P23", "%d steps are claimed forward, and its hops went from %d to %d", hops, m.before.Hops, t.Hops)
	}
}

var endKinds = map[core.State]core.StatusKind{core.Processed: core.StatusCompleted, core.Error: core.StatusFailed,
	core.Compensated: core.StatusUndone, core.Cancelled: core.StatusCancelled, core.Closed: core.StatusClosed}

// entering: an end says when it was, what led to it, and by when it is told (P11). In Error nothing waits for a time (P9).
func (m *move) entering() {
	t, late := m.after, m.def.ResendAfter
	for i := range t.Steps {
		s := &t.Steps[i]
		if t.ProcessState == core.Error && waits(s) && (s.CompleteBy != 0 || s.WakeAt != 0 && s.State != core.Waiting) {
			m.fail("P9", "it has stopped, and step %s waits until %s", s.Name, s.WakeAt)
		}
	}
	if !m.entered() {
		return
	}
	m.did("P11")
	tells := t.EndSeq > 0 || alerts(m.def, t)
	switch {
	case t.Ended < m.from || t.Ended > m.to:
		m.fail("P11", "it is %s since %s, and that was decided at %s", t.ProcessState, t.Ended, m.to)
	case (t.EndSeq > 0) != notifies(m.def, t, endKinds[t.ProcessState]):
		m.fail("18", "it is %s, and that is told as number %d", t.ProcessState, t.EndSeq)
	case tells != (t.ResendAt != 0), tells && (t.ResendAt < t.Ended.Add(late) || t.ResendAt > t.Ended.Add(2*late)):
		m.fail("P11", "it is %s since %s, and that is told again at %s", t.ProcessState, t.Ended, t.ResendAt)
	case alerts(m.def, t) && t.EndCommand != t.Command && m.event != nil:
		m.fail("P11", "it ended after command %d, and says %d", t.Command, t.EndCommand)
	case m.event != nil && t.EndCause != causeOf(m.event, t):
		m.fail("P12", "its end came of %q, and says %q", causeOf(m.event, t), t.EndCause)
	}
}

// passed: what comes after the step may begin, and the task may end (P20, P42).
func passed(s *core.Step) bool {
	return s.State == core.Processed || s.State == core.Skipped || s.State == core.Compensated
}

// goesForward: what is ready is claimed, and what is over ends (P20).
func (m *move) goesForward() {
	t, over := m.after, true
	if t.ProcessState != core.Processing || m.supervisor {
		return
	}
	m.did("P20", "P14")
	for i := range t.Steps {
		s := &t.Steps[i]
		over = over && passed(s)
		if s.State == core.Pending && !s.Attempted() && !slices.ContainsFunc(m.def.Steps[i].After, func(name string) bool { return !passed(t.Step(name)) }) {
			m.fail("P20", "step %s is ready, and is not claimed", s.Name)
		}
		if s.State == core.Processed && s.FinishSeq == 0 && notifies(m.def, t, core.StatusStepFinished) && m.was(s.Name).State != core.Processed {
			m.fail("18", "step %s is Processed, and that has no number", s.Name)
		}
	}
	if over {
		m.fail("P20", "every step is over, and it goes on")
	}
}

// goesBack: the undo goes on with what was claimed last (P7), and ends when nothing is left.
func (m *move) goesBack() {
	t := m.after
	if t.ProcessState != core.Compensating {
		return
	}
	m.did("9", "10")
	var last *core.Step
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Attempted() && s.State != core.Compensated && (last == nil || s.First > last.First) {
			last = s
		}
	}
	if last == nil {
		m.fail("10", "nothing is left to undo, and it goes on")
		return
	}
	d := &m.def.Steps[m.def.Index(last.Name)]
	was := m.was(last.Name)
	switch {
	case m.before.ProcessState == core.Compensating && was.State == last.State && was.CompleteBy == last.CompleteBy: // as it was
	case last.State == core.Compensating, last.State == core.UndoWait && last.WakeAt > m.from:
	case last.State == core.Processing && (d.Undo == nil || d.Grade != core.Fenced):
	default:
		m.fail("9", "step %s is the next one to be undone, and is %s", last.Name, last.State)
	}
}

// deadline: it is set by the order, or by the workflow, and by a Resubmit (P23a).
func (m *move) deadline() {
	t, b := m.after, m.before
	m.did("P23a")
	switch c, _ := m.event.(*message.Control); {
	case b == nil:
		o, ok := m.event.(*message.SubmitOrder)
		if ok && o.Deadline != t.Deadline && (o.Deadline != 0 || m.def.Deadline == 0 || t.Deadline < m.from.Add(m.def.Deadline) || t.Deadline > m.to.Add(m.def.Deadline)) {
			m.fail("P23a", "its deadline is %s, and the order's %s", t.Deadline, o.Deadline)
		}
	case m.event == nil && !m.supervisor:
	case c != nil && c.Kind == message.Resubmit && m.commanded && t.ProcessState == core.Processing:
		if t.Deadline != c.Deadline {
			m.fail("P23a", "its deadline is %s, and the Resubmit's %s", t.Deadline, c.Deadline)
		}
	case t.Deadline != b.Deadline && (c == nil || c.Kind != message.Resubmit):
		m.fail("P23a", "its deadline went from %s to %s", b.Deadline, t.Deadline)
	}
}

// claim holds a claim to its times, its holder and its cause (P1, P3, P6, P9a).
func (m *move) claim(was, s *core.Step, d *core.StepDefinition) {
	t, sameRun := m.after, m.before.Run == m.after.Run
	m.did("P6", "P9a", "P12")
	first := s.First > m.before.Claims && s.First <= t.Claims && s.FirstAt == s.ClaimedAt
	switch {
	case s.ClaimedAt < m.from || s.ClaimedAt > m.to:
		m.fail("P6", "step %s is claimed at %s, and says %s", s.Name, m.to, s.ClaimedAt)
	case sameRun && was.First == 0 && !first, sameRun && was.First != 0 && (s.First != was.First || s.FirstAt != was.FirstAt):
		m.fail("9", "step %s was first claimed as number %d at %s, and says %d at %s", s.Name, was.First, was.FirstAt, s.First, s.FirstAt)
	case !m.commanded && (was.State == core.UndoWait || was.State == core.Pending && !s.Undo) && was.WakeAt > m.to:
		m.fail("P9a", "step %s is claimed at %s, and waits until %s", s.Name, s.ClaimedAt, was.WakeAt)
	case s.InFlight() && s.LockedBy != m.w.cur.p.name:
		m.fail("16", "step %s is claimed by %s, and locked by %s", s.Name, m.w.cur.p.name, s.LockedBy)
	case s.InFlight() && m.event != nil && s.Cause != causeOf(m.event, t):
		m.fail("P12", "the claim of step %s came of %q, and says %q", s.Name, causeOf(m.event, t), s.Cause)
	case s.InFlight() && s.NoEffect != 0:
		m.fail("P22a", "step %s is asked for, and counts as without effect", s.Name)
	case s.InFlight():
		m.window(was, s, d)
		m.routes(was, s, d)
	}
}

// routes: a step with several agents asks none at which one of its last attempts was not done, and of the others the
// first whose wait none beats by 20 % (P44).
func (m *move) routes(was, s *core.Step, d *core.StepDefinition) {
	if len(d.Others) == 0 || m.event == nil || m.w.cur.orders() > 1 {
		return
	}
	names := slices.DeleteFunc(d.AllAgents(), func(name string) bool {
		return slices.ContainsFunc(m.after.Attempts, func(a core.Attempt) bool {
			return a.Step == s.Name && a.Number > was.Attempt-len(d.Others) && a.Outcome != core.OutcomeSuperseded && cmp.Or(a.Agent, d.Agent) == name
		})
	})
	m.did("P44")
	if !slices.ContainsFunc(m.times, func(at reading) bool {
		least := names[0]
		for _, name := range names[1:] {
			if 10*max(at.waits[name], 100) < 8*max(at.waits[least], 100) {
				least = name
			}
		}
		return least == d.AskedAgent(s)
	}) {
		m.fail("P44", "step %s asks %s, of %v", s.Name, d.AskedAgent(s), names)
	}
}

// window: how long an attempt may take (P6, P43), beyond which its key is not forgotten (P18), and what the queue adds (P32).
func (m *move) window(was, s *core.Step, d *core.StepDefinition) {
	timeout, longest := d.Timeout, max(d.Timeout, d.MaxDuration)
	if s.Undo {
		timeout, longest = d.Undo.Timeout, d.Undo.Timeout
	}
	known := m.knownUntil(was, s, d)
	stopBy := s.ClaimedAt.Add(longest + s.Allowance)
	if !s.Undo {
		stopBy = min(stopBy, max(known, s.ClaimedAt.Add(timeout)))
	}
	agent := d.AskedAgent(s)
	least := m.def.Agents[agent].QueueAllowance
	most := max(d.MaxQueueTime, least)
	m.did("P32", "P18")
	switch {
	case s.StopBy != stopBy, s.CompleteBy != min(stopBy, s.ClaimedAt.Add(timeout+s.Allowance)):
		m.fail("P6", "step %s, claimed at %s with %s for the queue, has stopBy %s and complete-by %s", s.Name, s.ClaimedAt, s.Allowance, s.StopBy, s.CompleteBy)
	case s.LastStopBy < max(s.StopBy, was.LastStopBy) && m.before.Run == m.after.Run, !s.Undo && s.QuietBy < s.StopBy:
		m.fail("P21", "step %s may be at work until %s, and says %s and %s", s.Name, s.StopBy, s.LastStopBy, s.QuietBy)
	case was.State == core.Pending && was.Attempted() && !s.Undo && m.before.Run == m.after.Run && s.ClaimedAt.Add(timeout) > known:
		m.fail("P18", "step %s is asked for again at %s, and its service may not know its key any more from %s on", s.Name, s.ClaimedAt, known)
	case m.event != nil && m.before.Run == m.after.Run && m.w.cur.orders() < 2 && !slices.ContainsFunc(m.times, func(at reading) bool {
		return s.Allowance == min(max(was.Allowance, least, 2*at.waits[agent]), most)
	}):
		m.fail("P32", "step %s has %s for the queue of %s, after %s", s.Name, s.Allowance, agent, was.Allowance)
	}
}

// knownUntil is the last moment at which the service of a step knows its key for sure (P18).
func (m *move) knownUntil(was, s *core.Step, d *core.StepDefinition) core.Time {
	agent := m.def.Agents[d.Agent]
	if agent.KeyRetention == 0 {
		return 1 << 62
	}
	from := s.FirstAt
	if s.Resolved != nil {
		if from = max(from, s.Resolved.At); s.Resolved.At > was.ClaimedAt {
			from = s.ClaimedAt
		}
	}
	return from.Add(agent.KeyRetention - agent.ClockSkew)
}

// held: a step whose agent made no call is handed back uncounted, for longer each time, since the first time that it was,
// and not beyond maxQueueTime or pollFor (P45).
func (m *move) held(was, s *core.Step, d *core.StepDefinition) {
	r, ok := m.event.(*message.Reply)
	if !ok || r.Step != s.Name || !uncounted(r) || !was.InFlight() || s.InFlight() || m.before.ProcessState == core.Error || was.State == core.Processing && m.before.ProcessState != core.Processing {
		return
	}
	m.did("P45")
	code, most := r.Error.Code, longestHold(d, r.Error.Code)
	since, polling := core.Time(0), core.Time(0)
	if sinceOf(was) != 0 {
		polling = was.Error.Polling
		if since = polling; sick(code) && sick(was.Error.Code) {
			since = was.Error.Since
		} else if sick(code) {
			since = 0
		}
	}
	spent := m.to.Sub(cmp.Or(since, m.to))
	if m.after.ProcessState == core.Error {
		if m.to.Sub(cmp.Or(since, m.from)) < most {
			m.fail("P45", "step %s is held back since %s (%s), %s is the most, and the operator was called", s.Name, since, code, most)
		}
		return
	}
	least, asked, left := min(max(spent-m.to.Sub(m.from), 2*core.Second), 5*core.Minute), min(r.RetryAfter, core.Hour), max(most-spent, 2*core.Second)
	longest := min(max(spent, 2*core.Second), 5*core.Minute) * 3 / 2
	switch {
	case s.FailureCount > was.FailureCount || s.UndoFailures > was.UndoFailures:
		m.fail("P45", "step %s was not called (%s), and that counts as a failure", s.Name, code)
	case spent >= most:
		m.fail("P45", "step %s is held back since %s (%s), %s is the most, and no operator was called", s.Name, since, code, most)
	case s.WakeAt < m.from.Add(min(max(least, asked), left)) || s.WakeAt > m.to.Add(min(max(longest, asked), left+m.to.Sub(m.from))):
		m.fail("P45", "step %s is held back since %s (%s), and is asked again at %s, after %s", s.Name, since, code, s.WakeAt, m.to)
	case since != 0 && s.Error.Since != since, since == 0 && s.Error.Since < m.from, !sick(code) && s.Error.Polling != s.Error.Since, sick(code) && s.Error.Polling != polling:
		m.fail("P45", "step %s is held back since %s, polled since %s (%s), and says since %s and %s", s.Name, since, polling, code, s.Error.Since, s.Error.Polling)
	case was.State == core.Processing && m.after.Hops != max(0, m.before.Hops-1):
		m.fail("P45", "step %s was not called (%s), and that takes a hop", s.Name, code)
	}
}

// proof: that a step had no effect is known from the service's or the operator's word on, until it is asked for again, or
// was done (P22a).
func (m *move) proof(was, s *core.Step) {
	t := m.after
	if m.before.Run != t.Run || s.NoEffect == was.NoEffect {
		return
	}
	m.did("P22a")
	r, replied := m.event.(*message.Reply)
	c, commanded := m.event.(*message.Control)
	switch {
	case m.event == nil && !m.supervisor, s.NoEffect == 0:
	case was.NoEffect != 0 && s.NoEffect != min(was.NoEffect, m.after.Ended), m.supervisor && was.NoEffect == 0:
		m.fail("P22a", "step %s had no effect since %s, and now since %s", s.Name, was.NoEffect, s.NoEffect)
	case was.NoEffect != 0:
	case replied && (!r.NoEffect || r.Step != s.Name), commanded && (c.Kind != message.Resolve || c.Step != s.Name || c.Fact == core.Happened):
		m.fail("P22a", "that step %s had no effect is known, and %s does not say it", s.Name, say(m.event))
	case t.ProcessState == core.Error && m.before.ProcessState == core.Error && s.NoEffect <= t.Ended:
		m.fail("P22a", "that step %s had no effect was learnt in the Error, and is as old as that", s.Name)
	}
}

// outcome: an attempt that is over is done, or is kept as it ended and counts once where it counts (P15, P16).
func (m *move) outcome(was, s *core.Step, d *core.StepDefinition) {
	t := m.after
	grew := max(0, s.FailureCount-was.FailureCount) + max(0, s.UndoFailures-was.UndoFailures)
	if !was.InFlight() || s.InFlight() && s.Attempt == was.Attempt {
		if grew > 0 {
			m.fail("13", "step %s counts a failure, and no attempt of it is over", s.Name)
		}
		return
	}
	m.did("P15", "13")
	undo := was.State == core.Compensating
	r, replied := m.event.(*message.Reply)
	replied = replied && r.Step == s.Name
	done := replied && r.Outcome == core.OutcomeDone
	kept := slices.IndexFunc(t.Attempts, func(a core.Attempt) bool {
		return a.Step == s.Name && a.Number == was.Attempt && a.Undo == undo && a.Agent == was.Agent && a.Began == was.ClaimedAt
	})
	if done == (kept >= 0) && m.w.room.limit == 0 {
		m.fail("P15", "attempt %d of step %s, which was %s, is over by %s, the step is %s, and that it was not done is kept: %v", was.Attempt, s.Name, was.State, say(m.event), s.State, kept >= 0)
		return
	}
	want, atLeast, code := 0, core.Duration(0), ""
	going := m.before.ProcessState == core.Processing
	switch {
	case replied:
		if r.Error != nil {
			code = r.Error.Code
		}
		atLeast = min(r.RetryAfter, core.Hour)
		if r.Outcome == core.OutcomeFailed || r.Outcome == core.OutcomeRetryLater && !uncounted(r) && (undo || going) {
			want = 1
		}
		if kept >= 0 && r.Outcome != core.OutcomeDone && (t.Attempts[kept].Outcome != r.Outcome || t.Attempts[kept].Code != code) {
			m.fail("P15", "attempt %d of step %s ended with %s (%s), and it is kept as %s (%s)", was.Attempt, s.Name, r.Outcome, code, t.Attempts[kept].Outcome, t.Attempts[kept].Code)
		}
	case m.supervisor && s.Queued == was.Queued && (undo || going):
		want = 1
	}
	if grew != want && !done { // its output may not fit (P28)
		m.fail("P15", "attempt %d of step %s is over by %s, and %d failures of it are counted, not %d", was.Attempt, s.Name, say(m.event), grew, want)
	}
	if want > 0 {
		m.putOff(s, d, undo, atLeast)
	}
}

// putOff: a failure within the budget is tried again after the backoff (P9a).
func (m *move) putOff(s *core.Step, d *core.StepDefinition, undo bool, atLeast core.Duration) {
	retry, n, state := d.Retry, s.FailureCount, core.Pending
	budget := retry.Budget()
	if undo {
		retry, n, state = d.Undo.Retry, s.UndoFailures, core.UndoWait
		budget = retry.MaxFailures
	}
	if s.State != state || m.after.ProcessState == core.Error {
		return
	}
	lo, hi := retry.ExtendedInterval, retry.ExtendedInterval
	if n < retry.MaxFailures {
		lo, hi = spanOf(retry.Backoff, n)
	}
	m.did("P9a", "12")
	switch {
	case n >= budget:
		m.fail("12", "step %s has failed %d times of %d, and is tried again", s.Name, n, budget)
	case s.WakeAt < m.from.Add(max(lo, atLeast)) || s.WakeAt > m.to.Add(max(hi, atLeast)):
		m.fail("P9a", "step %s has failed %d times at %s, and waits until %s", s.Name, n, m.to, s.WakeAt)
	}
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

// uncounted is a reply of an agent that made no call which could have had an effect (P45).
func uncounted(r *message.Reply) bool {
	return r.Outcome == core.OutcomeRetryLater && r.Error != nil && (sick(r.Error.Code) || r.Error.Code == "not-yet")
}

// sick is the code of an agent that cannot use its service.
func sick(code string) bool { return code == "breaker-open" || code == "unauthorized" }

// policy: a step that has failed stops the task, or has it undone, for the reason that it says (P19, P22).
func (m *move) policy(was, s *core.Step, d *core.StepDefinition) {
	t, b := m.after, m.before
	m.did("P19")
	if r, ok := m.event.(*message.Reply); ok && r.NoEffect && d.PointOfNoReturn && r.Step == s.Name && was.State == core.Processing && !stale(r, b) && s.NoEffect == 0 && r.Outcome != core.OutcomeDone {
		m.fail("P22a", "the service says that step %s had no effect, and that is not kept", s.Name)
	}
	if s.State != core.Failed || was.State == core.Failed || b.ProcessState != core.Processing || d.Answer != nil {
		return
	}
	stop := d.OnFailure == core.OnFailureStop || pastReturn(m.def, t)
	switch {
	case t.ProcessState == core.Processing:
		m.fail("P19", "step %s has failed, and the task goes on", s.Name)
	case t.ProcessState == core.Compensating && stop && t.Why == core.WhyFailure:
		m.fail("P19", "step %s has failed, which is to stop the task, and it is undone", s.Name)
	case t.ProcessState == core.Error && t.Phase == core.Forward && !stop && s.FailureCount > was.FailureCount:
		m.fail("P19", "step %s has failed, which is to have the task undone, and it has stopped", s.Name)
	}
}

// pastReturn: a point of no return was claimed, and nothing proves since then that it had no effect (P22, P22a).
func pastReturn(def *core.Definition, t *core.Task) bool {
	for i := range t.Steps {
		if s := &t.Steps[i]; def.Steps[i].PointOfNoReturn && s.Attempted() && s.NoEffect == 0 {
			return true
		}
	}
	return false
}

// withoutEffect: the service, or the operator, has proven that nothing of the step stands (P22a, Resolve).
func withoutEffect(s *core.Step) bool {
	stated := s.Resolved != nil && s.Resolved.Fact != core.Happened && s.Resolved.At > s.ClaimedAt
	return s.NoEffect != 0 || stated && s.State == core.Compensated || s.First == 0 && s.FailureCode != ""
}

func waits(s *core.Step) bool {
	return s.State == core.Pending && s.Attempted() || s.State == core.Failed || s.State == core.UndoWait || s.State == core.Waiting
}

// accepted: what an operator's command asks for is possible where it is accepted, and not where it is refused (P17, P18).
func (m *move) accepted() {
	c, ok := m.event.(*message.Control)
	if !ok || c.Kind == message.Wake || c.Kind == message.Settle || c.Kind == message.Answer || c.Kind == message.Move || c.Definition != "" {
		return
	}
	if _, known := verdictOf(m.before, c.ID); known {
		return
	}
	rule := "P18"
	switch c.Kind {
	case message.Cancel:
		rule = "P17"
	case message.Close:
		m.did("P48")
	}
	m.did(rule)
	yes, _ := verdictOf(m.after, c.ID)
	if want := m.acceptable(c); yes != want {
		m.fail(rule, "%s %s was accepted: %v", c.Kind, c.ID, yes)
	}
	if why := m.after.Why; yes && why != m.before.Why && why != "" && (why == core.WhyCancel) != (c.Kind == message.Cancel) {
		m.fail("P19", "it is undone because of %s after a %s", why, c.Kind)
	}
}

func (m *move) acceptable(c *message.Control) bool {
	b := m.before
	stopped, past := b.ProcessState == core.Error, pastReturn(m.w.defOf(b), b)
	if c.Kind == message.Cancel {
		return c.Run == b.Run && b.ProcessState != core.Closed && (b.CancelAsked || b.ProcessState != core.Processed && !past)
	}
	if c.Command != b.Command {
		return false
	}
	switch c.Kind {
	case message.Undo:
		return stopped && !past
	case message.Resubmit:
		if c.Deadline != 0 && c.Deadline <= m.to {
			return false
		}
		return b.ProcessState == core.Compensated || stopped && !slices.ContainsFunc(b.Steps, func(s core.Step) bool { return m.mayForget(&s) })
	case message.Close:
		return stopped && !slices.ContainsFunc(b.Steps, func(s core.Step) bool { return s.InFlight() || s.Attempted() && !m.quiet(&s) })
	}
	s := b.Step(c.Step)
	if s == nil || !stopped {
		return false
	}
	d := &m.def.Steps[m.def.Index(c.Step)]
	doubt := s.State != core.Waiting && d.Answer == nil && s.Attempted() && waits(s) && m.quiet(s)
	return doubt && !(c.Fact == core.Happened && b.Phase == core.Undoing && d.PointOfNoReturn)
}

// quiet: no agent can be at work on the step any more.
func (m *move) quiet(s *core.Step) bool {
	return m.to > s.LastStopBy.Add(m.def.Agents[m.def.Steps[m.def.Index(s.Name)].Agent].ClockSkew)
}

// mayForget: a step in doubt whose key its service may have forgotten (P18).
func (m *move) mayForget(s *core.Step) bool {
	d := &m.def.Steps[m.def.Index(s.Name)]
	timeout := d.Timeout
	if s.Undo {
		timeout = d.Undo.Timeout
	}
	now := *s
	now.ClaimedAt = m.to
	return waits(s) && s.Attempted() && m.to.Add(timeout) > m.knownUntil(s, &now, d)
}

// supervised: all that is overdue is decided (P16), what was not is put off (P10), and a backlog counts against no agent (P32).
func (m *move) supervised() {
	iv, t, b := m.w.cur, m.after, m.before
	m.did("P16", "P10")
	switch first := live(t); {
	case first != 0 && first <= m.from && !iv.backlog(port.Control):
		m.fail("P16", "it is overdue since %s, and the Supervisor has left that", first)
	case live(b) > m.to && t.Due != first:
		m.fail("P10", "the Supervisor pushed it to %s, and its earliest live time is %s", t.Due, first)
	}
	for i := range t.Steps {
		s, was := &t.Steps[i], m.was(t.Steps[i].Name)
		single := !slices.ContainsFunc(t.Steps, func(o core.Step) bool { return o.Name != s.Name && m.was(o.Name).InFlight() && !o.InFlight() })
		if !was.InFlight() || s.InFlight() || was.State == core.Processing && (b.ProcessState != core.Processing || was.Progress != nil) || b.ProcessState == core.Error {
			continue
		}
		m.did("P32")
		over, asked := false, true
		for _, queue := range []string{port.Requests(m.def.Steps[i].AskedAgent(was)), port.Replies} {
			_, known := iv.depths[queue]
			over, asked = over || iv.backlog(queue), asked && known
		}
		queued := s.Queued - was.Queued
		switch {
		case !over && !asked:
			m.fail("P32", "the Supervisor never asked how much waits in the queues of step %s", s.Name)
		case over && (s.Allowance != min(max(was.Allowance, 1)*2, m.def.Steps[i].MaxQueueTime) || s.State == core.Pending && single && t.Hops != max(0, b.Hops-1)):
			m.fail("P32", "step %s was handed back with %s for the queue after %s, and %d hops after %d", s.Name, s.Allowance, was.Allowance, t.Hops, b.Hops)
		case over != (queued > 0), over && (queued < m.from.Sub(was.ClaimedAt) || queued > m.to.Sub(was.ClaimedAt)):
			m.fail("P32", "%s of the time in the queue is counted for step %s, claimed at %s; there is a backlog: %v", queued, s.Name, was.ClaimedAt, over)
		}
	}
}
