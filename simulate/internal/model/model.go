// Package model is a second, simple implementation of the protocol, written from the protocol's text. It
// computes the effect of one event on one task. Package check compares the model with every commit of the
// real actors, and with every message that an actor deletes without a commit.
package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// Model is one task together with all data that its decisions depend on.
//
// The protocol leaves some values open, such as jitter and resend times. If the committed task has a value in
// the permitted range, the model uses this value.
type Model struct {
	Def      *core.Definition
	Defs     []*core.Definition // definitions to which a task may be moved
	Latest   *core.Definition   // definition of new orders
	Key      string             // token key of new orders (P39, a token is an answer's permission)
	T        *core.Task         // the task; the model may change it
	Real     *core.Task         // committed task; nil if no commit exists
	Now      core.Time
	By       string
	cause    string
	Content  []byte // content of the order
	sweeping bool   // true if the model decides as the Supervisor, which claims no step
	Waits    map[string]core.Duration
	// true if another order of the same batch may have changed the recorded queue waits
	Loose bool
	// Backlog reports whether a queue has a backlog. A queue has one if it holds more messages than its
	// consumers receive at a time, or if it has no consumer.
	Backlog func(queue string) bool
	// name of a queue if the model needs its depth and the handler did not read it
	Unasked string
	Direct  bool // true if the event came by a call of the Scheduler instead of a queue
	// true if the order has ended and its record has expired (P26, an ID never runs twice)
	Expired bool
	Room    Room
	Fresh   bool // true if the event was never received before (P12a, who emits again)

	Mails   []Mail
	Changed bool
	Ahead   bool // true if the message must stay in its queue (P8, every commit is conditional)
	refused bool // true if the event was refused
}

// CopyOf returns a copy of a task. The caller may change the copy's steps.
func CopyOf(t *core.Task) *core.Task {
	if t == nil {
		return nil
	}
	c := *t
	c.Steps = slices.Clone(t.Steps)
	return &c
}

// post adds a message. It leaves out a status that waits for the resend time of its receiver.
func (m *Model) post(kind byte, step string, attempt int, wakeAt core.Time) {
	if strings.ContainsRune("tup", rune(kind)) && Postponed(m.T, m.T.ReplyTo) {
		return
	}
	m.Mails = append(m.Mails, Mail{kind, step, attempt, wakeAt})
}

// Take applies one event to the task. It returns the name of the rule for the event.
func (m *Model) Take(ev any) (rule string) {
	before := CopyOf(m.T)
	defer func() { m.leftEnd(before) }()
	switch e := ev.(type) {
	case core.Unsent:
		m.unsent(e)
		return "P12"
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

func (m *Model) control(c *message.Control) string {
	switch e := c.Event.(type) {
	case core.Wake:
		m.cause = "wake/" + e.Step + "/" + strconv.Itoa(e.Attempt)
		m.wake(e)
		return "P9a"
	case core.Settle:
		m.settle()
		return "P11"
	case core.Answered:
		m.cause = causeOfAnswer(e)
		m.answer(c, e)
		return "P36"
	case core.Cancel:
		m.cause = "cancel/" + strconv.Itoa(e.Run)
	default:
		number := core.CommandOf(c.Event).Number
		m.cause = string(c.Kind()) + "/" + strconv.Itoa(number)
	}
	m.command(c)
	switch c.Kind() {
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

func (m *Model) alive() bool { return m.T != nil && !m.T.Terminal() }

// find returns the index of the step that a reply or a Wake names. It returns -1 if the message cannot change
// the step.
func (m *Model) find(step string, run, attempt int) int {
	if m.T == nil {
		return -1
	}
	i := slices.IndexFunc(m.T.Steps, func(s core.Step) bool { return s.Name == step })
	switch {
	case i < 0:
		return -1
	case run > m.T.Run, run == m.T.Run && attempt > m.T.Steps[i].Attempt:
		m.Ahead = true
		return -1
	case run < m.T.Run || attempt < 1:
		return -1
	}
	return i
}

// policy applies the policy of a failed step (P19, policy decides about a failed step). The task may go on
// although the step has failed (P42, orders can go on after failures).
func (m *Model) policy(i int, code string) {
	if (m.Def.Steps[i].OnFailure == core.OnFailureContinue || m.needless(m.Def.Steps[i].Name)) &&
		m.T.ProcessState == core.Processing {
		m.goOn(i, code)
		return
	}
	m.policyOf(m.Def.Steps[i].OnFailure)
}

// goOn lets the task go on although the step has failed (P42). It undoes the step if the step was claimed.
func (m *Model) goOn(i int, code string) {
	s := &m.T.Steps[i]
	s.FailureCode = code
	switch {
	case s.First.Nth == 0:
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

func (m *Model) direction() core.Phase {
	if m.T.ProcessState == core.Compensating {
		return core.Undoing
	}
	return core.Forward
}

// Passed reports whether a step has ended. Later steps need not wait for such a step, and the task can end
// (P20, what happens next is computed; P42).
func Passed(s *core.Step) bool {
	return s.State == core.Processed || s.State == core.Skipped || s.State == core.Compensated
}

func (m *Model) policyOf(policy core.Policy) {
	switch {
	case m.T.ProcessState == core.Compensating:
		m.advance()
	case m.T.ProcessState != core.Processing:
	case policy == core.OnFailureStop || m.pastReturn():
		m.stop(core.Forward)
	default:
		m.T.ProcessState, m.T.Undo.Why = core.Compensating, core.WhyFailure
		m.advance()
	}
}

func (m *Model) pastReturn() bool { return PastReturn(m.Def, m.T) }

// PastReturn reports whether a point of no return was claimed (P22, a point of no return forbids undo). A
// claim does not count if a proof shows that the claim had no effect (P22a, a proven refusal permits undo).
func PastReturn(def *core.Definition, t *core.Task) bool {
	for i := range t.Steps {
		if s := &t.Steps[i]; def.Steps[i].PointOfNoReturn && s.Attempted() && s.NoEffect == 0 {
			return true
		}
	}
	return false
}

func (m *Model) end(s *core.Step, state core.State) {
	earlier(s)
	s.State, s.CompleteBy, s.Wait.At = state, 0, 0
	s.Claim.By, s.Claim.Cause = "", ""
	s.Claim.StopBy, s.Claim.Progress = 0, nil
	unheld(s)
}

// earlier keeps the latest stop-by of all attempts, separately for do and undo (P21, an undo waits for
// quiet).
func earlier(s *core.Step) {
	by := &s.Stops.Do
	if s.Claim.Undo {
		by = &s.Stops.Undo
	}
	*by = max(*by, s.Claim.StopBy)
}

func (m *Model) notifyFinished(s *core.Step) {
	if m.notifies(core.StatusStepFinished) {
		m.T.StatusSeq++
		s.Finish.Seq, s.Finish.Cause = m.T.StatusSeq, m.cause
		m.post('t', "", s.Finish.Seq, 0)
	}
}

func (m *Model) notifies(kind core.StatusKind) bool {
	// A workflow that reports failures also reports closed orders (P48, close ends an order as it stands).
	if kind == core.StatusClosed {
		kind = core.StatusFailed
	}
	return m.T.ReplyTo != "" && slices.Contains(m.Def.Notify, kind)
}

func (m *Model) realStep(i int) *core.Step {
	if s := m.Real.Step(m.T.Steps[i].Name); s != nil {
		return s
	}
	return &core.Step{}
}

// wait delays a step by a duration between lo and hi (P9a, a waiting step has two times). The real wait
// contains jitter, so the model takes the wait of the committed task if it is between lo and hi.
func (m *Model) wait(i int, state core.State, lo, hi core.Duration) {
	s := &m.T.Steps[i]
	m.end(s, state)
	s.Wait.At = m.Now.Add(hi)
	if m.Real != nil {
		if at := m.realStep(i).Wait.At; at >= m.Now.Add(lo) && at <= m.Now.Add(hi) {
			s.Wait.At = at
		}
	}
	s.CompleteBy = s.Wait.At.Add(m.Def.Grace)
	m.post('w', s.Name, s.Attempt, s.Wait.At)
}

// wake applies a Wake (P9a).
func (m *Model) wake(c core.Wake) {
	if m.T == nil || c.Step == "" {
		if undoing := m.T != nil && m.T.ProcessState == core.Compensating; undoing {
			m.Ahead = c.Run > m.T.Run
			m.Changed = c.Run == m.T.Run && m.advance()
		}
		if !m.Changed {
			m.again()
		}
		return
	}
	i := m.find(c.Step, c.Run, c.Attempt)
	if i < 0 || c.Attempt < m.T.Steps[i].Attempt {
		m.again()
		return
	}
	s := &m.T.Steps[i]
	held := s.State == core.Pending && s.Attempted() || s.State == core.UndoWait && s.Claim.Undo
	if since, _ := HeldSince(s); c.Early && held && since != 0 && sick(s.Error.Code) {
		s.Wait.At = min(s.Wait.At, m.Now) // the agent can call again (P45, "not now" is not a failure)
	}
	switch {
	case m.T.ProcessState == core.Processing && s.State == core.Pending && s.Attempted() &&
		m.Now >= s.Wait.At:
		m.Changed = true
		if m.needless(s.Name) { // the question has its answer (P38, an ask sends the question)
			m.forward()
			return
		}
		if m.mayForget(i) {
			m.end(s, core.Failed)
			m.stop(core.Forward)
			return
		}
		m.claim(i)
	case m.T.ProcessState == core.Processing && s.State == core.Waiting && m.Now >= NextLook(m.Def, m.T, i):
		// The wait has ended (P34, a wait ends at a fixed time).
		m.Changed = true
		if m.Def.Steps[i].Answer != nil {
			m.lookAtAnswers(i)
			if s.State == core.Waiting && m.remind(i) {
				m.leaveTime(i)
			}
		} else {
			m.finish(i, nil)
		}
		m.advance()
	case m.T.ProcessState == core.Processing && s.State == core.UndoWait && m.Now >= s.Wait.At: // P42
		m.Changed = true
		if m.undo(i) {
			m.advance()
		}
	case m.T.ProcessState == core.Compensating && (s.State == core.Waiting || s.State == core.Pending ||
		s.State == core.Failed || s.State == core.UndoWait):
		m.Changed = m.advance()
	}
	if !m.Changed {
		m.again()
	}
}

// stop puts the task into Error. It removes the times of the steps that are not in flight, except the end of
// a wait (P9, tasks not at rest are due).
func (m *Model) stop(phase core.Phase) {
	for i := range m.T.Steps {
		s := &m.T.Steps[i]
		s.NoEffect = min(s.NoEffect, m.Now)
		switch {
		case s.State == core.Waiting: // the wait keeps its end (P33, a waiting step asks no agent)
			s.CompleteBy = 0
		case Waits(s):
			s.Wait.At, s.CompleteBy = 0, 0
		}
	}
	m.enter(core.Error, phase)
}

// Waits reports whether a step has failed, or waits for a time, an answer or its next attempt.
func Waits(s *core.Step) bool {
	return s.State == core.Pending && s.Attempted() || s.State == core.Failed || s.State == core.UndoWait ||
		s.State == core.Waiting
}

var endKinds = map[core.State]core.StatusKind{core.Processed: core.StatusCompleted,
	core.Error:       core.StatusFailed,
	core.Compensated: core.StatusUndone, core.Cancelled: core.StatusCancelled, core.Closed: core.StatusClosed}

// enter puts the task into an end or into Error, and sends the reports of the end (P11).
func (m *Model) enter(state core.State, phase core.Phase) {
	t := m.T
	t.ProcessState, t.Phase = state, phase
	t.End = core.End{At: m.Now, Cause: m.cause}
	if m.notifies(endKinds[state]) || m.Def.Events {
		t.StatusSeq++
		t.End.Seq = t.StatusSeq
	}
	if Alerts(m.Def, t) {
		t.End.Command = t.Commands.Number
	}
	if t.End.Seq > 0 || Alerts(m.Def, t) {
		t.End.ResendAt = m.resendTime()
	}
	m.announce()
}

func (m *Model) resendTime() core.Time {
	lo := m.Now.Add(m.Def.ResendAfter)
	if m.Real != nil && m.Real.End.ResendAt >= lo && m.Real.End.ResendAt <= lo.Add(m.Def.ResendAfter) {
		return m.Real.End.ResendAt
	}
	return lo
}

func (m *Model) announce() {
	if m.sweeping && m.T.End.Seq > 0 {
		m.post('s', "", 0, 0)
		return
	}
	m.Mails = append(m.Mails, OfEnd(m.Def, m.T)...)
}

// OfEnd returns the messages of a task's end: the status for the application, the status for the event bus,
// and the alert.
func OfEnd(def *core.Definition, t *core.Task) (all []Mail) {
	if t.End.Seq > 0 && t.ReplyTo != "" && !Postponed(t, t.ReplyTo) {
		all = append(all, Mail{Kind: 't', Attempt: t.End.Seq})
	}
	if t.End.Seq > 0 && def != nil && def.Events && !Postponed(t, core.Events) {
		all = append(all, Mail{Kind: 'b', Attempt: t.End.Seq})
	}
	if Alerts(def, t) {
		all = append(all, Mail{Kind: 'a', WakeAt: t.End.At})
	}
	return all
}

// Alerts reports whether the end of the task alerts the operator (P11). Every Error alerts the operator. An
// undo after a failure alerts the operator only if the workflow requests an alert.
func Alerts(def *core.Definition, t *core.Task) bool {
	undone := t.ProcessState == core.Compensated && t.Undo.Why == core.WhyFailure
	return t.ProcessState == core.Error || undone && def != nil && def.AlertUndone
}

// Shop is the name of the application's status queue.
const Shop = "shop"

// FirstKeys and LaterKeys hold keys for tokens. In LaterKeys, the second key of FirstKeys is the current key
// (P39).
var (
	FirstKeys = token.Fixed(false)
	LaterKeys = token.Fixed(true)
)

// UndoneFor returns a description of the reason of an undo. A task that has stopped stores this reason
// separately from the reason of the Error.
func UndoneFor(t *core.Task, stopped bool) string {
	step, code := t.Reason.Step, t.Reason.Code
	if t.ProcessState == core.Error || stopped {
		step, code = t.Undo.Reason.Step, t.Undo.Reason.Code
	}
	return fmt.Sprintf("%s, step %q (%s)", t.Undo.Why, step, code)
}

// Live returns the earliest time at which an actor must process the task, or 0 if there is no such time (P9).
func Live(t *core.Task) core.Time {
	first := resendTime(t)
	add := func(at core.Time) {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
	if t.ProcessState == core.Processing {
		add(t.Deadline.At)
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.InFlight() || going && Waits(s) {
			add(s.CompleteBy)
		}
	}
	return first
}
