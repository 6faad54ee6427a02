package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// submit applies the submission of an order (P14, submit creates once).
func (m *Model) submit(o *message.SubmitOrder) {
	switch {
	case m.T != nil && !m.T.IsTombstone() && message.ContentHash(*o) != message.HashOf(m.T),
		m.T == nil && m.Expired,                              // P26, an ID never runs twice
		m.T == nil && o.Deadline != 0 && o.Deadline <= m.Now: // a new order must not be past its deadline
		m.refuse(o.ReplyTo)
		return
	case m.T != nil:
		if !m.Direct { // the caller already has the result
			m.received()
		}
		m.again()
		return
	}
	m.Changed, m.Content = true, o.Order
	t := &core.Task{
		OrderID: o.OrderID, Workflow: m.Def.Name, Definition: m.Def.Hash,
		ReplyTo: o.ReplyTo, ProcessState: core.Processing, Steps: make([]core.Step, len(m.Def.Steps)),
	}
	if len(o.Order) <= core.InlineOrder(m.Def) {
		t.Order = o.Order
	} else {
		t.ContentHash = message.ContentHash(*o)
	}
	for i := range t.Steps {
		t.Steps[i] = core.Step{Name: m.Def.Steps[i].Name, State: core.Pending}
	}
	if m.Def.Tokens {
		t.TokenKey = m.Key
	}
	m.T = t
	m.received()
	if o.Deadline != 0 || m.Def.Deadline != 0 {
		m.deadline(cmp.Or(o.Deadline, m.Now.Add(m.Def.Deadline)))
	}
	m.started()
	m.advance()
}

// received sends the status "received" for each submission of the order (P14).
func (m *Model) received() {
	if !m.T.IsTombstone() && m.notifies(core.StatusReceived) {
		m.post('c', "", 0, 0)
	}
}

// refuse sends the status "refused" for an order or a command. If the sender has no status queue, the message
// goes to quarantine instead.
func (m *Model) refuse(replyTo string) {
	m.refused = true
	switch {
	case m.Direct: // the caller already has the result
	case replyTo == Shop:
		m.post('f', "", 0, 0)
	default:
		m.post('q', "", 0, 0)
	}
}

func (m *Model) deadline(at core.Time) {
	m.T.Deadline.At = at
	m.T.Deadline.Seq++
}

func (m *Model) started() {
	m.T.Start.Seq, m.T.Start.Cause = 0, ""
	if m.notifies(core.StatusStarted) {
		m.T.StatusSeq++
		m.T.Start.Seq, m.T.Start.Cause = m.T.StatusSeq, m.cause
		m.post('t', "", m.T.Start.Seq, 0)
	}
}

// command decides a command. It applies P5 (commands have a number and an ID). The method judge applies the
// other rules.
func (m *Model) command(c *message.Control) {
	about := core.CommandOf(c.Event)
	id, number := about.ID, about.Number
	cancel := c.Kind() == message.Cancel
	if m.T == nil {
		if !cancel || m.Expired {
			m.refuse(c.ReplyTo)
			return
		}
		m.Changed = true
		m.T = &core.Task{OrderID: c.OrderID, ProcessState: core.Cancelled,
			Undo: core.Reversal{Why: core.WhyCancel, CancelAsked: true}, Commands: core.Commands{Number: 1,
				Verdicts: []core.Verdict{{ID: id, Command: "cancel", Accepted: true}}},
			End: core.End{At: m.Now, Cause: "cancel/0"}}
		return
	}
	if yes, known := m.verdict(id); known {
		m.reported(yes)
		m.again()
		return
	}
	yes, act := m.judge(c.Event)
	if m.Ahead {
		return
	}
	m.Changed = true
	switch {
	case yes || cancel:
	case number == m.T.Commands.Number:
		m.remember(string(c.Kind()), id)
	case number <= m.T.Commands.Number:
	case len(m.T.Commands.Refused["command"]) < mostRefused:
		m.remember("command", id)
	case number-m.T.Commands.Number <= 1_000_000: // the next valid number is higher than the refused one
		m.T.Commands.Number = number + 1
	}
	m.T.Commands.Verdicts = lastEight(m.T.Commands.Verdicts,
		core.Verdict{ID: id, Command: string(c.Kind()), Accepted: yes})
	m.reported(yes)
	if yes && act != nil {
		m.T.Commands.Number++
		act()
	}
}

// mostRefused is the largest number of refused commands of one kind that a task stores in a run.
const mostRefused = 16

// remember stores the ID of a refused command or answer. The task then refuses each repetition in the same
// run (P5; P17, a cancel is kept; P36, answers may come early, late or twice). If the list is full, the
// effect depends on the kind:
//   - An answer replaces the oldest ID.
//   - A Cancel is not stored.
//   - Any other command empties the list and raises the command number.
func (m *Model) remember(kind, id string) {
	refused := map[string][]string{}
	maps.Copy(refused, m.T.Commands.Refused)
	all := slices.Clone(refused[kind])
	switch full := len(all) == mostRefused; {
	case full && kind == "cancel":
		return
	case full && kind == "answer":
		all = all[1:]
	case full:
		m.T.Commands.Number++
		all = nil
	}
	refused[kind] = append(all, idHash(id))
	m.T.Commands.Refused = refused
}

func idHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:8])
}

// reported sends the status "command refused" for a refused command that came by a queue (P5).
func (m *Model) reported(yes bool) {
	if !yes && !m.Direct && m.T.ReplyTo == Shop {
		m.post('v', "", 0, 0)
	}
}

// silent reports whether no step is in flight and no call can begin any more (P48, close ends an order as it
// stands).
func (m *Model) silent() bool {
	for i := range m.T.Steps {
		s := &m.T.Steps[i]
		last := s.LastStop().Add(m.Def.Agents[m.Def.Steps[i].Agent].ClockSkew)
		if s.InFlight() || s.Attempted() && m.Now <= last {
			return false
		}
	}
	return true
}

func (m *Model) close(c core.Close) {
	m.T.Closing = &core.Closing{By: c.By, Reason: c.Reason}
	m.enter(core.Closed, "")
}

// erase removes the data that people and services have sent (P52, erase removes content, not identity).
func (m *Model) erase(c core.Erase) {
	t := m.T
	t.Order, t.Output, t.Undelivered, m.Content = nil, nil, nil, nil
	t.Erased = &core.Erasure{By: c.By, Reason: c.Reason, At: m.Now}
	if t.Closing != nil {
		t.Closing = &core.Closing{By: t.Closing.By}
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		s.Output = nil
		if s.Corrected != nil {
			s.Corrected = &core.Corrected{Command: s.Corrected.Command, By: s.Corrected.By,
				At: s.Corrected.At}
		}
		if s.Claim.Progress != nil {
			s.Claim.Progress = &core.StepProgress{Percent: s.Claim.Progress.Percent, At: s.Claim.Progress.At}
		}
		if s.Answers != nil {
			a := *s.Answers
			a.Who, a.NotSelf, a.Votes = nil, "", nil
			s.Answers = &a
		}
	}
}

// leave removes the end of the task and puts the task into another state.
func (m *Model) leave(state core.State, why core.Why) {
	m.T.ProcessState, m.T.Phase, m.T.Undo.Why = state, "", why
	m.T.End = core.End{}
}

// turn begins or continues the undo. It ends every wait (P9a, a waiting step has two times) and resets the
// failure counts of the undos.
func (m *Model) turn(why core.Why) {
	m.leave(core.Compensating, why)
	for i := range m.T.Steps {
		s := &m.T.Steps[i]
		s.Failures.Undo, s.Failures.Queued = 0, 0
		unheld(s)
		if Waits(s) {
			s.Wait.At, s.CompleteBy = 0, 0
		}
	}
	m.advance()
}

// forgotten reports whether the service of at least one step may forget the step's key before a next attempt
// ends (P18, resubmit uses a remembered key). Only attempted steps between two attempts count.
func (m *Model) forgotten() bool {
	for i := range m.T.Steps {
		if m.mayForget(i) {
			return true
		}
	}
	return false
}

func (m *Model) mayForget(i int) bool {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	if !Waits(s) || !s.Attempted() {
		return false
	}
	return m.Now.Add(s.TimeoutOf(d)) > m.knownUntil(i)
}

func (m *Model) knownUntil(i int) core.Time {
	s, agent := &m.T.Steps[i], m.Def.Agents[m.Def.Steps[i].Agent]
	if agent.KeyRetention == 0 {
		return 1 << 62
	}
	from := cmp.Or(s.FirstClaim(), m.Now)
	if s.Resolved != nil {
		if from = max(from, s.Resolved.At); s.Resolved.At > s.Claim.At {
			from = m.Now
		}
	}
	return from.Add(agent.KeyRetention - agent.ClockSkew)
}

// resume applies a Resubmit to a task in Error with the phase forward. The run and the keys stay the same.
func (m *Model) resume(c core.Resubmit) {
	m.leave(core.Processing, m.T.Undo.Why)
	m.T.Hops = 0
	m.renew(c)
	m.started()
	for i := range m.T.Steps {
		s := &m.T.Steps[i]
		if s.State == core.Processed && s.Finish.Seq == 0 {
			m.notifyFinished(s)
		}
		s.Failures.Do, s.Failures.Undo, s.Failures.Queued = 0, 0, 0
		unheld(s)
		if s.State == core.Failed && !s.Attempted() {
			s.State = core.Pending
		}
	}
	var again []int
	for i := range m.T.Steps {
		s := &m.T.Steps[i]
		switch {
		// A Resubmit checks every waiting step again (P33, a waiting step asks no agent).
		case s.State == core.Waiting:
			m.lookAgain(i)
		case s.State == core.UndoWait: // P42, orders can go on after failures
			m.undo(i)
		case s.Attempted() && (s.State == core.Failed || s.State == core.Pending):
			again = append(again, i)
		}
		if m.T.ProcessState != core.Processing { // an answer was a refusal, or the time for answers is over
			return
		}
	}
	m.forward(again...)
}

// restart applies a Resubmit to a Compensated order. It starts a new run with new keys (P2, attempts of a run
// share a key). The attempt numbers continue (P1, every claim has a new attempt).
func (m *Model) restart(c core.Resubmit) {
	m.leave(core.Processing, "")
	t := m.T
	t.Run++
	t.Hops, t.Deadline.Seq = 0, 0
	ahead := t.Commands.Refused["command"] // these commands may have a valid number in a later run
	t.Commands.Refused = map[string][]string{}
	if len(ahead) > 0 {
		t.Commands.Refused["command"] = ahead
	}
	for i := range t.Steps {
		s := core.Step{Name: t.Steps[i].Name, State: core.Pending, Attempt: t.Steps[i].Attempt}
		if a := t.Steps[i].Answers; a != nil { // the verdicts on answers stay (P36)
			s.Answers = &core.Answers{Round: 1, Verdicts: a.Verdicts}
		}
		t.Steps[i] = s
	}
	m.renew(c)
	m.started()
	m.advance()
}

// renew applies the input and the deadline of a Resubmit (P51, a call can get another input). If the Resubmit
// has no deadline, renew removes the order's deadline (P23a, a deadline stops or undoes the order).
func (m *Model) renew(c core.Resubmit) {
	if c.Step != "" {
		m.T.Step(c.Step).Corrected = m.corrected(c)
	}
	m.T.Deadline.At = 0
	if c.Deadline != 0 {
		m.deadline(c.Deadline)
	}
}

// resolvable reports whether a Resolve may state the result of the step. The step must be attempted, and no
// agent may still be working on the step.
func (m *Model) resolvable(i int) bool {
	s := &m.T.Steps[i]
	return s.State != core.Waiting && m.Def.Steps[i].Answer == nil && s.Attempted() && Waits(s) &&
		m.Now > s.LastStop().Add(m.Def.Agents[m.Def.Steps[i].Agent].ClockSkew)
}

// outputStated reports whether the task can store the output of a Resolve. The step must become Processed,
// and the document must have space for the output.
func (m *Model) outputStated(i int, c core.Resolve) bool {
	if c.Fact != core.Happened || m.T.Phase == core.Undoing || m.T.Steps[i].State == core.UndoWait {
		return false
	}
	then := m.T.Steps[i]
	defer func() { m.T.Steps[i] = then }()
	m.T.Steps[i].Output = c.Output
	return m.keepsReserve(m.T, c.ID)
}

func (m *Model) resolve(i int, fact core.Fact, output json.RawMessage) {
	s := &m.T.Steps[i]
	s.Resolved = &core.Resolved{Fact: fact, Command: m.T.Commands.Number, At: m.Now}
	undo := m.T.Phase == core.Undoing || s.State == core.UndoWait // P42
	switch {
	case undo && fact == core.Happened:
		s.State = core.UndoWait
	case undo:
		m.end(s, core.Compensated)
	case fact == core.Happened:
		m.finish(i, output)
		m.advance()
	default:
		m.proven(s)
	}
}
