package scheduler

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// childMessage is a message between a parent task and a child task (P41, parent and child talk by messages).
type childMessage struct {
	engine.Message
}

func (in *childMessage) decided() *engine.Message { return &in.Message }

func newChildMessage(c *message.Child) *childMessage {
	if c.Ended != nil {
		return &childMessage{Message: engine.Message{OrderID: c.Ended.Parent.OrderID, Event: *c.Ended}}
	}
	ask := *c.Ask
	ask.ContentHash = message.ContentHash(message.SubmitOrder{Workflow: ask.Workflow, Order: ask.Order,
		Priority: ask.Priority})
	return &childMessage{Message: engine.Message{OrderID: ask.OrderID, Event: ask}}
}

// answer reports the refusal of a new child to its parent as the child's end. The end is ChildExpired if the
// record of the child has expired (P26, an ID never runs twice). Otherwise it is ChildCompensated, because
// the child never begins.
func (in *childMessage) answer(s *Scheduler) {
	if in.Refusal == nil {
		return
	}
	ask, asked := in.Event.(core.AskChild)
	switch {
	case !asked || in.Before != nil:
		s.refused(&in.Message, "", core.Status{})
	case in.Refusal.Code == message.CodeExpired:
		in.Answer = []core.Effect{core.ChildEnded{Parent: ask.Parent, State: core.ChildExpired,
			Code: message.CodeExpired, Message: "the child ended long ago and its record has expired"}}
	default:
		in.Answer = []core.Effect{core.ChildEnded{Parent: ask.Parent, State: core.ChildCompensated,
			Code: in.Refusal.Code, Message: in.Refusal.Text}}
	}
}
