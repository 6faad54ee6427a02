package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// longestReminder is the longest time from when a reminder is sent until its call must have begun.
const longestReminder = core.Hour

// goesForward reports whether the step has begun, has not ended, and is wanted.
func (s *Step) goesForward() bool {
	forward := s.State == core.Processing || s.HandedBack() || s.State == core.Waiting && !s.Claim.Undo
	return forward && s.Withdrawn == 0
}

// RemindAt returns the time at which the Supervisor looks after the next reminder of a step that goes forward, or zero.
func (s *Step) RemindAt() core.Time {
	if !s.goesForward() {
		return 0
	}
	return s.Reminded.Next
}

// remindsSince returns the time from which the reminders of a step count: its first claim, or that of a question's
// round.
func (s *Step) remindsSince(d *core.StepDefinition) core.Time {
	if d.Answer != nil {
		return s.Claim.At
	}
	return s.FirstClaim()
}

// NextReminder returns the time of the first reminder after the newest one, or zero. The number of times can differ
// from Reminded.N, because a Move may have changed them.
func (s *Step) NextReminder(d *core.StepDefinition) core.Time {
	if d.Remind == nil || !s.goesForward() {
		return 0
	}
	since := s.remindsSince(d)
	next := d.Remind.Due(since, d.Remind.DueBy(since, s.Reminded.At)+1)
	if d.Answer != nil && next >= s.Wait.At { // the question's time is over then
		return 0
	}
	return next
}

// scheduleReminder sets the time of the Supervisor's next look at the step's reminders, and emits a Wake for the next
// one. If the Wake is lost, or the time is too far ahead for a message, the Supervisor sends the Wake.
func (s step) scheduleReminder() {
	next := s.NextReminder(s.d)
	s.Reminded.Next = next
	if next == 0 || s.t.ProcessState != core.Processing {
		return
	}
	if next.Sub(s.at.Now) <= maxDelay {
		s.Reminded.Next = max(next, s.at.Now).Add(s.def.Grace)
	}
	s.wake(next)
}

// remind sends the newest reminder that is due, and skips older ones. It reports whether one was due.
func (s step) remind() bool {
	next := s.NextReminder(s.d)
	if next == 0 || next > s.at.Now || s.t.ProcessState != core.Processing {
		return false
	}
	// No number is used twice, even if a Move has changed the times.
	n := max(s.d.Remind.DueBy(s.remindsSince(s.d), s.at.Now), s.Reminded.N+1)
	s.Reminded = Reminded{N: n, At: s.at.Now}
	if err := s.emitReminder(); err != nil {
		s.Reminded.Unsent = core.ShortNote(core.RedactText(err.Error()))
	}
	s.scheduleReminder()
	return true
}

// remindAgain emits the newest reminder and the Wake for the next one again, because the handling that has sent them
// may have died (P12, effects are emitted again).
func (s step) remindAgain() {
	if s.d.Remind == nil || s.t.ProcessState != core.Processing {
		return
	}
	_ = s.emitReminder()
	next := s.NextReminder(s.d)
	if next != 0 {
		s.wake(next)
	}
}

// wakeToRemind wakes the Scheduler if the time of a reminder has passed. The Supervisor sends no request itself (P16,
// the Supervisor hands back and gives up).
func (s step) wakeToRemind() bool {
	if s.t.ProcessState != core.Processing || !s.RemindAt().Passed(s.at.Now) {
		return false
	}
	s.Reminded.Next = s.at.Now.Add(s.def.Grace)
	s.wake(0)
	return true
}

// emitReminder emits the newest reminder. One that is emitted again has the same bytes. It is not emitted after its
// stop-by, and not after a Move, because the new definition may say something else under the same key. The error says
// that its input cannot be computed.
func (s step) emitReminder() error {
	if s.Reminded.N == 0 || s.Reminded.Moved || s.d.Remind == nil || !s.goesForward() {
		return nil
	}
	q := s.reminder()
	if q.Agent == "" || s.at.Now >= q.StopBy {
		return nil
	}
	input, err := s.reminderInput()
	if err != nil || s.err != nil {
		return err
	}
	q.Input = input
	s.emit(q)
	return nil
}

// reminder returns the request of the newest reminder, without its input. It has the attempt 0, so that its reply
// changes nothing. It has no agent if the call that it repeats was not done.
func (s step) reminder() core.SendRequest {
	d := s.d.Remind
	m := s.Reminded
	since := s.remindsSince(s.d)
	n := d.DueBy(since, m.At)
	q := core.SendRequest{
		OrderID: s.t.OrderID, Run: s.t.Run, Step: s.Name, Operation: core.Do,
		Agent: d.Agent, Name: d.Operation, Timeout: d.Timeout, Grade: core.Idempotent,
		Key:       core.Key(s.t.OrderID, s.t.Run, s.Name) + "/" + strconv.Itoa(s.FirstRound()) + "." + strconv.Itoa(m.N),
		ClaimedAt: d.Due(since, n), StopBy: m.At.Add(longestReminder),
		Trace: core.AttemptTrace(s.t.OrderID, s.t.Run, s.Name, m.N),
	}
	if next := d.Due(since, n+1); next != 0 {
		q.StopBy = min(q.StopBy, next)
	}
	if ask := s.asks(); ask >= 0 {
		of := s.decision.step(ask)
		if of.State != core.Processed {
			return q
		}
		q.Agent = of.AskedAgent(of.d)
		q.Name = of.d.Operation
		q.Timeout = of.d.Timeout
		q.Grade = of.d.Grade
	}
	agent := s.def.Agents[q.Agent]
	q.ClockSkew = agent.ClockSkew
	if agent.KeyRetention > 0 { // after it, the service may have forgotten the key (P18, a remembered key)
		known := m.At.Add(agent.KeyRetention - agent.ClockSkew)
		q.StopBy = min(q.StopBy, max(known, m.At.Add(q.Timeout)))
	}
	q.CompleteBy = q.StopBy
	return q
}

// FirstRound returns the number of the round with which the present claim began, from 1. It stays while refused answers
// open further rounds, and so do the keys of reminders.
func (s *Step) FirstRound() int {
	if s.Answers == nil {
		return 1
	}
	return s.Round() - s.Answers.Refused
}

// asks returns the index of the call that the step's reminders repeat, or -1.
func (s step) asks() int {
	if s.d.Remind.Agent != "" || s.d.Answer == nil {
		return -1
	}
	return s.def.Index(s.d.Answer.Ask)
}

// reminderInput evaluates the input of the newest reminder.
func (s step) reminderInput() (json.RawMessage, error) {
	if ask := s.asks(); ask >= 0 {
		return s.decision.step(ask).input(core.Do)
	}
	if s.d.Remind.Input == nil || !s.orderKnown() {
		return nil, nil
	}
	env := s.environment(false)
	env.Index = s.Reminded.N
	return s.def.Expr.Value(core.PartReminder, s.i, env)
}
