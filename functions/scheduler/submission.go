package scheduler

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

type submission struct {
	engine.Message
	order  *message.SubmitOrder
	direct bool // the order came through Submit and not through a queue
}

func (in *submission) decided() *engine.Message { return &in.Message }

// newSubmission sets the event only if the order is valid.
func newSubmission(o *message.SubmitOrder, valid bool) *submission {
	in := &submission{order: o}
	in.OrderID, _ = o.Known()
	if !valid {
		return in
	}
	priority := o.Priority
	if priority == message.PriorityNormal {
		priority = ""
	}
	in.Order = o.Order
	in.Event = core.Submitted{
		OrderID: o.OrderID, Workflow: o.Workflow, ContentHash: message.ContentHash(*o),
		Priority: priority, ReplyTo: o.ReplyTo, Deadline: o.Deadline,
	}
	return in
}

// answer notifies the sender that the order is stored, refused or cancelled. The status has no sequence
// number. Each delivery of the submission sends the status again.
func (in *submission) answer(s *Scheduler) {
	t := in.Decision.Task
	switch {
	case in.Refusal != nil:
		in.refuse(s)
	case t.IsTombstone():
		s.notify(&in.Message, in.order.ReplyTo, core.Status{
			Kind: core.StatusCancelled, OrderID: t.OrderID,
			At: t.End.At, Message: "the order was cancelled before it came; it does not run",
		})
	case in.direct && in.Before != nil && !in.Again:
		// The order exists already. SubmitResult.Known reports this to the sender.
	case t.ReplyTo != "" && in.Definition != nil && in.Definition.Notifies(core.StatusReceived):
		in.Answer = []core.Effect{core.SendStatus{ReplyTo: t.ReplyTo, Status: core.Status{
			Kind: core.StatusReceived, OrderID: t.OrderID, Workflow: t.Workflow, At: t.Created,
			Notes: s.notes(t.Priority),
		}}}
	}
}

func (in *submission) refuse(s *Scheduler) {
	_, replyTo := in.order.Known()
	s.refused(&in.Message, replyTo, core.Status{Kind: core.StatusRefused})
}
