package view

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Message is a message that a task has received or sent. It is derived from the stored document (P12,
// effects are emitted again). A message that the document does not keep is missing. For example, the
// document keeps only the last 16 unsuccessful attempts, so the requests of earlier attempts are missing.
type Message struct {
	At         core.Time `json:"at,omitzero" doc:"absent if the stored document does not keep it"`
	Way        string    `json:"way" enum:"received,sent"`
	Kind       string    `json:"kind" enum:"order,command,answer,reply,progress,request,wake,children,status,alert,end"`
	Peer       string    `json:"peer,omitempty" doc:"sender or receiver: an agent, a reply-to, a person or an order"`
	Step       string    `json:"step,omitempty"`
	Attempt    int       `json:"attempt,omitempty"`
	What       string    `json:"what" doc:"operation of an agent, outcome, kind of status, or command"`
	Seq        int       `json:"seq,omitempty" doc:"number of a numbered status"`
	Final      bool      `json:"final,omitempty" doc:"true if the message belongs to the present end of the order"`
	Unreported bool      `json:"unreported,omitempty" doc:"true for a final message that may not have been sent; it is sent again at the time in until"`
	Until      core.Time `json:"until,omitzero" doc:"complete-by time of a request, arrival of a wake, or time at which an unreported end is sent again"`
	Code       string    `json:"code,omitempty"`
	Text       string    `json:"text,omitempty"`

	order core.Time // sort key
}

const (
	received = "received"
	sent     = "sent"
)

// Kinds of messages.
const (
	MessageOrder    = "order"
	MessageCommand  = "command"
	MessageAnswer   = "answer"
	MessageReply    = "reply"
	MessageProgress = "progress"
	MessageRequest  = "request"
	MessageWake     = "wake"
	MessageChildren = "children"
	MessageStatus   = "status"
	MessageAlert    = "alert"
	MessageEnd      = "end" // message of a child to its parent
)

type messages struct {
	task *protocol.Task
	def  *core.Definition
	all  []Message
}

func (m *messages) add(at core.Time, way, kind, peer, what string, more func(*Message)) {
	msg := Message{At: at, Way: way, Kind: kind, Peer: peer, What: what, order: at}
	if more != nil {
		more(&msg)
	}
	m.all = append(m.all, msg)
}

func messagesOf(t *protocol.Task, def *core.Definition) []Message {
	m := &messages{task: t, def: def}
	m.beginning()
	attempts, _ := attemptsOf(t, def)
	for _, a := range attempts {
		m.attempt(a)
	}
	for i := range t.Steps {
		m.step(&t.Steps[i], definitionOf(def, t.Steps[i].Name))
	}
	for _, v := range t.Commands.Verdicts {
		m.add(v.At, received, MessageCommand, v.By, v.Command, func(x *Message) {
			x.Text = verdictText(v)
			x.Code = verdictWord(v)
		})
	}
	m.end()
	slices.SortStableFunc(m.all, func(a, b Message) int { return int(a.order.Sub(b.order)) })
	return m.all
}

func (m *messages) beginning() {
	t := m.task
	if t.Workflow == "" {
		return // a cancel came before the order
	}
	from := ""
	if t.Parent != nil {
		from = t.Parent.OrderID
	}
	m.add(t.Created, received, MessageOrder, from, MessageOrder, nil)
	if t.ReplyTo == "" {
		return
	}
	if m.def != nil && m.def.Notifies(core.StatusReceived) {
		m.add(t.Created, sent, MessageStatus, t.ReplyTo, string(core.StatusReceived), nil)
	}
	if t.Start.Seq > 0 {
		m.add(t.StartedAt(), sent, MessageStatus, t.ReplyTo, string(core.StatusStarted),
			func(x *Message) { x.Seq = t.Start.Seq })
	}
}

// attempt adds the request of an unsuccessful attempt, and its reply if one came.
func (m *messages) attempt(a Attempt) {
	d := definitionOf(m.def, a.Step)
	if a.Agent == "" {
		return // the step calls no agent
	}
	of := func(x *Message) {
		x.Step = a.Step
		x.Attempt = a.Number
	}
	m.add(a.Began, sent, MessageRequest, a.Agent, operation(d, a.Operation == core.UndoOp), of)
	if a.Outcome == core.OutcomeFailed || a.Outcome == core.OutcomeRetryLater {
		m.add(a.Ended, received, MessageReply, a.Agent, string(a.Outcome),
			func(x *Message) { of(x); x.Code = a.Code })
	}
}

func operation(d *core.StepDefinition, undo bool) string {
	switch {
	case d == nil && undo:
		return string(core.UndoOp)
	case d == nil:
		return string(core.Do)
	case undo && d.Undo != nil:
		return d.Undo.Operation
	}
	return d.Operation
}

func (m *messages) step(s *protocol.Step, d *core.StepDefinition) {
	if s.FirstClaim() == 0 {
		return
	}
	of := func(x *Message) {
		x.Step = s.Name
		x.Attempt = s.Attempt
	}
	switch {
	case d != nil && d.Each != nil:
		m.children(s)
	case d == nil || d.Agent != "":
		m.calls(s, d)
	case s.Answers != nil:
		for _, v := range s.Answers.Votes {
			what := MessageAnswer // The value of an event belongs to the application, so it is not shown.
			if d.Answer != nil && d.Answer.Event == "" {
				what = string(v.Value)
			}
			m.add(v.At, received, MessageAnswer, v.By, what, of)
		}
	case s.Finish.At != 0:
		m.add(s.Finish.At, received, MessageWake, "", "the wait is over", of)
	}
	if going := m.task.ProcessState == core.Processing || m.task.ProcessState == core.Compensating; going &&
		s.Wait.At != 0 && !s.InFlight() {
		m.add(s.Claim.At, sent, MessageWake, "", "the wait is over",
			func(x *Message) { of(x); x.Until = s.Wait.At })
	}
	if s.Finish.Seq > 0 {
		m.add(s.Finish.At, sent, MessageStatus, m.task.ReplyTo, string(core.StatusStepFinished),
			func(x *Message) {
				x.Step = s.Name
				x.Seq = s.Finish.Seq
			})
	}
}

// calls adds the requests of a step to its agent, and the replies. It leaves out the messages that the method
// attempt adds.
func (m *messages) calls(s *protocol.Step, d *core.StepDefinition) {
	agent := s.Claim.Agent
	if d != nil {
		agent = s.AskedAgent(d)
	}
	listed := func(number int, began core.Time) bool {
		return slices.ContainsFunc(m.task.Attempts.Last, func(a protocol.Attempt) bool {
			return a.Step == s.Name && (a.Number == number || a.Began == began)
		})
	}
	last := func(x *Message) {
		x.Step = s.Name
		x.Attempt = s.Attempt
	}
	if !listed(s.Attempt, s.Claim.At) {
		m.add(s.Claim.At, sent, MessageRequest, agent, operation(d, s.Claim.Undo), func(x *Message) {
			if last(x); s.InFlight() {
				x.Until = s.CompleteBy
			}
		})
	}
	if first := s.FirstClaim(); s.Claim.Undo && first != s.Claim.At && !listed(0, first) {
		m.add(first, sent, MessageRequest, agent, operation(d, false), func(x *Message) { x.Step = s.Name })
	}
	if p := s.Claim.Progress; p != nil && s.InFlight() {
		m.add(p.At, received, MessageProgress, agent, fmt.Sprintf("%d %%", p.Percent),
			func(x *Message) { last(x); x.Text = p.Note })
	}
	if s.Finish.At != 0 {
		m.add(s.Finish.At, received, MessageReply, agent, string(core.OutcomeDone), func(x *Message) {
			x.Step = s.Name
			if !s.Claim.Undo {
				x.Attempt = s.Attempt
			}
		})
	}
	if s.State == core.Compensated && s.Claim.Undo { // the document does not store the time of the reply
		m.add(0, received, MessageReply, agent, string(core.OutcomeDone),
			func(x *Message) { last(x); x.order = s.Claim.At })
	}
}

func (m *messages) children(s *protocol.Step) {
	c := s.Children
	if c == nil {
		return
	}
	what := "start"
	ended := c.Next - len(c.Open)
	if s.Claim.Undo {
		what = "undo"
		ended = max(0, c.Count-c.Cursor-len(c.Open))
	}
	m.add(s.Claim.At, sent, MessageChildren, "", what, func(x *Message) {
		x.Step = s.Name
		x.Attempt = s.Attempt
		x.Text = fmt.Sprintf("%s, %d of them have reported their ends",
			Count(ended+len(c.Open), "child order"), ended)
	})
}

// end adds the messages about the present end (P11, an end is reported until settled). Each message states
// whether it was sent.
func (m *messages) end() {
	t := m.task
	if t.End.At == 0 {
		return
	}
	reported := func(x *Message) {
		x.Final = true
		x.Unreported = t.End.ResendAt != 0
		x.Until = t.End.ResendAt
	}
	if t.End.Seq > 0 {
		for _, name := range t.EndReceivers(m.def) {
			m.add(t.End.At, sent, MessageStatus, name, string(protocol.EndKind(t)), func(x *Message) {
				reported(x)
				x.Seq = t.End.Seq
				x.Code = t.Reason.Code
				x.Text = t.Reason.Text
				x.Step = t.Reason.Step
			})
		}
	}
	if t.Parent != nil {
		m.add(t.End.At, sent, MessageEnd, t.Parent.OrderID, string(protocol.EndKind(t)), reported)
	}
	if protocol.RaisesAlert(m.def, t) && !movedAfterEnd(t) {
		m.add(t.End.At, sent, MessageAlert, "", string(t.ProcessState),
			func(x *Message) {
				reported(x)
				x.Code = t.Reason.Code
				x.Step = t.Reason.Step
			})
	}
}
