package scheduler

import (
	"context"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

type reply struct {
	engine.Message
	waited core.Duration // time that the request and the reply waited in queues
}

func (in *reply) decided() *engine.Message { return &in.Message }

func newReply(r *message.Reply, d *port.Delivery, inQueue core.Duration) *reply {
	role, _, _ := strings.Cut(d.Sender, ":") // SQS's SenderId is "AROA…:session"
	return &reply{waited: r.Waited + inQueue, Message: engine.Message{
		OrderID: r.OrderID,
		Event:   replied(r), From: engine.Sender{Agent: r.Agent, Role: role},
	}}
}

func replied(r *message.Reply) core.Event {
	if r.Outcome == message.Progress {
		return core.Progress{
			Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation,
			Until: r.Until, Percent: r.Percent, Note: core.Printable(r.Note),
		}
	}
	ev := core.Reply{
		Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation,
		Outcome: r.Outcome, Output: r.Output, RetryAfter: r.RetryAfter, NoEffect: r.NoEffect,
	}
	if r.Outcome == core.OutcomeDone {
		return ev
	}
	ev.Output = nil
	ev.Code = "unspecified"
	ev.Message = "the agent gave no reason"
	if r.Error != nil {
		ev.Code = strings.ToValidUTF8(r.Error.Code, "\ufffd")
		ev.Message = strings.ToValidUTF8(r.Error.Message, "\ufffd")
	}
	return ev
}

// answer counts a refusal. Agents get no answers.
func (in *reply) answer(s *Scheduler) {
	if in.Refusal != nil {
		s.refused(&in.Message, "", core.Status{})
	}
}

// accepted returns the reply of a message with its agent and operation. It returns false if the reply was not
// accepted. The agent's name comes from the task, so that a false reply cannot add a name.
func accepted(m *engine.Message) (r Replied, step *protocol.Step, ok bool) {
	r.Reply, ok = m.Event.(core.Reply)
	if !ok || m.Err != nil || m.Before == nil || !m.Decision.Changed {
		return r, nil, false
	}
	i := m.Definition.Index(r.Step)
	if i < 0 {
		return r, nil, false
	}
	step = &m.Before.Steps[i]
	d := &m.Definition.Steps[i]
	r.Agent = step.AskedAgent(d)
	r.Name = d.Operation
	r.Uncalled = step.EndsUncalled()
	if r.Operation == core.UndoOp && d.Undo != nil {
		r.Name = d.Undo.Operation
	}
	return r, step, true
}

// replied calls Config.Replied with the accepted replies of the jobs.
func (s *Scheduler) replied(ctx context.Context, jobs []*engine.Job) {
	if s.cfg.Replied == nil {
		return
	}
	for _, j := range jobs {
		for _, m := range j.Messages {
			if r, _, ok := accepted(m); ok {
				s.cfg.Replied(ctx, r)
			}
		}
	}
}

// recordQueueWait records how long the request and the reply waited in queues. It ignores replies that were
// not accepted. It also ignores a reply to an earlier attempt, which shows an old wait, and to a claim that is
// older than the queues, whose wait contains the time without a process. The wait is at most the time since the
// claim.
func (in *reply) recordQueueWait(s *Scheduler) {
	r, step, ok := accepted(&in.Message)
	if ok && step.Attempt == r.Attempt && step.Claim.At >= s.cfg.QueuesSince {
		s.cfg.Waits.record(r.Agent, min(in.waited, max(0, in.At.Sub(step.Claim.At))), in.At)
	}
}
