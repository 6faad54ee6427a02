package scheduler

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// answer adds the answer for the sender of the message. Agents get none.
func (in *incoming) answer(s *Scheduler) {
	switch {
	case in.order != nil:
		in.answerSubmitter(s)
	case in.control != nil && in.control.ForTasks():
		in.answerParent(s)
	case in.control != nil:
		in.answerCommand(s)
	case in.Refusal != nil:
		s.refused(in, "", core.Status{})
	}
}

// answerSubmitter notifies the sender that the order is stored, refused or cancelled. The status has no sequence
// number. Each delivery of the submission sends the status again.
func (in *incoming) answerSubmitter(s *Scheduler) {
	t := in.Decision.Task
	switch {
	case in.Refusal != nil:
		in.refuse(s)
	case t.IsTombstone():
		s.notify(in, in.order.ReplyTo, core.Status{
			Kind: core.StatusCancelled, OrderID: t.OrderID,
			At: t.End.At, Message: "the order was cancelled before it came; it does not run",
		})
	case !in.queued && in.Before != nil && !in.Again:
		// The order exists already. SubmitResult.Known reports this to the sender.
	case t.ReplyTo != "" && in.Definition != nil && in.Definition.Notifies(core.StatusReceived):
		in.Answer = []core.Effect{core.SendStatus{ReplyTo: t.ReplyTo, Status: core.Status{
			Kind: core.StatusReceived, OrderID: t.OrderID, Workflow: t.Workflow, At: t.Created,
			Notes: s.notes(t.Priority),
		}}}
	}
}

func (in *incoming) refuse(s *Scheduler) {
	_, replyTo := in.order.Known()
	s.refused(in, replyTo, core.Status{Kind: core.StatusRefused})
}

// answerParent reports the refusal of a new child to its parent:
//   - ChildExpired means that the record of the child has expired (P26, an ID never runs twice).
//   - ChildError means that the definition of the child cannot be read. The parent asks again later.
//   - ChildRefused is the end in all other cases, because the child never begins.
func (in *incoming) answerParent(s *Scheduler) {
	if in.Refusal == nil {
		return
	}
	ask, asked := in.Event.(core.AskChild)
	switch {
	case !asked || in.Before != nil:
		s.refused(in, "", core.Status{})
	case in.Refusal.Code == core.CodeNoTokens: // it waits for a Scheduler with keys, as other messages do (P39)
		in.Err = in.Refusal
	case in.Refusal.Code == message.CodeExpired:
		in.Answer = []core.Effect{core.ChildEnded{
			Parent: ask.Parent, State: core.ChildExpired,
			Code: message.CodeExpired, Message: "the child ended long ago and its record has expired",
		}}
	default:
		state := core.ChildRefused
		if in.Refusal.Code == core.CodeDamaged {
			state = core.ChildError
		}
		in.Answer = []core.Effect{core.ChildEnded{
			Parent: ask.Parent, State: state, Code: in.Refusal.Code,
			Message: in.Refusal.Text,
		}}
	}
}

// answerCommand notifies the sender of a refused command. The status goes to the reply-to of the command, or else to
// the reply-to of the order. The task also stores the verdict (P5, commands have a number and an ID).
func (in *incoming) answerCommand(s *Scheduler) {
	c := in.control
	t := in.Decision.Task
	v := in.Decision.Verdict
	switch {
	case in.early():
	case in.Refusal != nil && in.queued:
		s.refused(in, c.ReplyTo, core.Status{
			Kind:    core.StatusCommandRefused,
			Command: string(c.Kind()), CommandID: c.ID(),
		})
	case in.Refusal != nil: // the method Scheduler.Command returns the refusal
		s.refused(in, "", core.Status{})
	case in.queued && v != nil && !v.Accepted:
		s.notify(in, cmp.Or(c.ReplyTo, t.ReplyTo),
			core.Status{
				Kind: core.StatusCommandRefused, OrderID: t.OrderID, Run: t.Run,
				Workflow: t.Workflow, At: v.At, Command: v.Command, CommandID: v.ID, Code: "refused",
				Message: v.Reason,
			})
	}
}

// earlyDelays holds the delays after which an answer to an unknown order is handled again. An answer
// may come before its order (P36, answers may come early, late or twice).
var earlyDelays = [...]time.Duration{5 * time.Second, time.Minute, port.MaxDelay}

// early reports whether sendAgain must send the message again. The message is then an answer to an
// order that does not exist yet, and earlyDelays has a further delay.
func (in *incoming) early() bool {
	return in.control != nil && in.queued && in.Refusal != nil && in.Refusal.Code == core.CodeUnknownTask &&
		in.control.Kind() == message.Answer && in.control.Tries < len(earlyDelays)
}

func (s *Scheduler) sendAgain(ctx context.Context, c *message.Control) error {
	q, err := s.cfg.Queues.Queue(port.Control)
	if err != nil {
		return err
	}
	s.count("answer sent again", "unknown order")
	again := *c
	again.Tries++
	return q.Send(ctx, []port.Message{{Delay: earlyDelays[c.Tries], Value: &again}})[0]
}

// refused counts a refusal, and notifies the sender of the reason. If the sender cannot be notified,
// acknowledge puts the message into quarantine, so that no message is lost without a trace.
func (s *Scheduler) refused(m *incoming, replyTo string, status core.Status) {
	s.count("refused", m.Refusal.Code)
	s.log.Info("refused", "order", m.OrderID, "code", m.Refusal.Code)
	status.OrderID = m.OrderID
	status.At = s.now()
	status.Code = m.Refusal.Code
	status.Message = m.Refusal.Text
	s.notify(m, replyTo, status)
}

// notify adds a status for the reply-to, if the reply-to exists. If the lookup of the reply-to fails,
// the message comes again.
func (s *Scheduler) notify(m *incoming, replyTo string, status core.Status) {
	if replyTo == "" {
		return
	}
	switch _, err := s.cfg.Queues.ReplyTo(replyTo); {
	case errors.Is(err, port.ErrNotFound) || errors.Is(err, port.ErrForbidden):
	case err != nil:
		s.log.Warn("its sender cannot be notified now; the message is returned to the queue", "order",
			status.OrderID, "replyTo", replyTo, "error", err)
		m.Err = err
	default:
		m.Answer = []core.Effect{core.SendStatus{ReplyTo: replyTo, Status: status}}
	}
}
