package scheduler

import (
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

type reply struct {
	engine.Message
	waited core.Duration // time that the request and the reply waited in queues
}

func (in *reply) decided() *engine.Message { return &in.Message }

func newReply(r *message.Reply, d *port.Delivery, inQueue core.Duration) *reply {
	role, _, _ := strings.Cut(d.Sender, ":") // SQS's SenderId is "AROA…:session"
	return &reply{waited: r.Waited + inQueue, Message: engine.Message{OrderID: r.OrderID,
		Event: replied(r), From: engine.Sender{Agent: r.Agent, Role: role}}}
}

func replied(r *message.Reply) core.Event {
	if r.Outcome == message.Progress {
		return core.Progress{Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation,
			Until: r.Until, Percent: r.Percent, Note: printable(r.Note)}
	}
	ev := core.Reply{
		Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation,
		Outcome: r.Outcome, Output: r.Output, RetryAfter: r.RetryAfter, NoEffect: r.NoEffect,
	}
	if r.Outcome == core.OutcomeDone {
		return ev
	}
	ev.Output, ev.Code, ev.Message = nil, "unspecified", "the agent gave no reason"
	if r.Error != nil {
		ev.Code, ev.Message = strings.ToValidUTF8(r.Error.Code, "\ufffd"),
			strings.ToValidUTF8(r.Error.Message, "\ufffd")
	}
	return ev
}

func printable(note string) string {
	return strings.Map(func(c rune) rune {
		if core.Unprintable(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(note, "\ufffd"))
}

// answer counts a refusal. Agents get no answers.
func (in *reply) answer(s *Scheduler) {
	if in.Refusal != nil {
		s.refused(&in.Message, "", core.Status{})
	}
}

// recordQueueWait records how long the request and the reply waited in queues, and calls
// Config.Replied. It ignores replies that were not accepted. The agent's name comes from the task, so
// that false replies cannot add names to Waits. The wait is at most the time since the claim.
func (in *reply) recordQueueWait(s *Scheduler) {
	r, ok := in.Event.(core.Reply)
	if !ok || in.Before == nil || !in.Decision.Changed {
		return
	}
	i := in.Definition.Index(r.Step)
	if i < 0 {
		return
	}
	step, def := &in.Before.Steps[i], &in.Definition.Steps[i]
	agent, operation := def.AskedAgent(step), def.Operation
	if step.Attempt == r.Attempt { // a reply to an earlier attempt shows an old wait
		s.cfg.Waits.record(agent, Wait{min(in.waited, max(0, in.At.Sub(step.Claim.At))), in.At})
	}
	if s.cfg.Replied == nil {
		return
	}
	if r.Operation == core.UndoOp && def.Undo != nil {
		operation = def.Undo.Operation
	}
	s.cfg.Replied(agent, operation, r)
}
