package scheduler

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

type childMessage struct {
	engine.Message
}

func (in *childMessage) decided() *engine.Message { return &in.Message }

func newChildMessage(c *message.Control) *childMessage {
	ev := c.Event
	if ask, ok := ev.(core.AskChild); ok {
		ask.ContentHash = message.ContentHash(message.SubmitOrder{
			Workflow: ask.Workflow, Order: ask.Order,
			Priority: ask.Priority,
		})
		ev = ask
	}
	return &childMessage{Message: engine.Message{OrderID: c.OrderID, Event: ev}}
}

// answer reports the refusal of a new child to its parent:
//   - ChildExpired means that the record of the child has expired (P26, an ID never runs twice).
//   - ChildError means that the definition of the child cannot be read. The parent asks again later.
//   - ChildRefused is the end in all other cases, because the child never begins.
func (in *childMessage) answer(s *Scheduler) {
	if in.Refusal == nil {
		return
	}
	ask, asked := in.Event.(core.AskChild)
	switch {
	case !asked || in.Before != nil:
		s.refused(&in.Message, "", core.Status{})
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
