package scheduler

import (
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func (s *Scheduler) decode(queueName string, d *port.Delivery, now core.Time) (in *incoming, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: reading it panicked: %v", message.ErrUnreadable, p)
		}
	}()
	switch queueName {
	case port.Intake, port.High(port.Intake):
		o, c, err := message.IntakeOf(*d)
		if c != nil {
			return newCommand(c, true), nil
		}
		return newSubmission(&o, err == nil), err
	case port.Replies:
		r, err := message.Of[message.Reply](*d)
		if err != nil {
			return nil, err
		}
		return newReply(r, d, inQueue(d, now)), nil
	case port.Control, port.Tasks:
		c, err := message.Of[message.Control](*d)
		switch {
		case err != nil:
			return nil, err
		case c.ForTasks() != (queueName == port.Tasks):
			return nil, fmt.Errorf("%w: the queue %s takes no %s", message.ErrUnreadable, queueName, c.Kind())
		case c.ForTasks():
			return newChildMessage(c), nil
		}
		return newCommand(c, true), nil
	}
	return nil, fmt.Errorf("queue %q is not one of the Scheduler's", queueName)
}

// inQueue returns how long a reply has waited in the queue of replies (P32, queue time is not a failure). now
// is the time at which the batch came. So the work on other messages of the batch does not count. For a reply
// that comes again, inQueue returns 0, because the wait includes an earlier handling.
func inQueue(d *port.Delivery, now core.Time) core.Duration {
	if d.SentAt.IsZero() || d.Received > 1 {
		return 0
	}
	return max(0, now.Sub(core.TimeOf(d.SentAt)))
}

// newSubmission sets the event only if the order is valid.
func newSubmission(o *message.SubmitOrder, valid bool) *incoming {
	in := &incoming{order: o, queued: true}
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

func newCommand(c *message.Control, queued bool) *incoming {
	return &incoming{control: c, queued: queued, Message: engine.Message{OrderID: c.OrderID, Event: c.Event}}
}

func newChildMessage(c *message.Control) *incoming {
	ev := c.Event
	if ask, ok := ev.(core.AskChild); ok {
		ask.ContentHash = message.ContentHash(message.SubmitOrder{
			Workflow: ask.Workflow, Order: ask.Order,
			Priority: ask.Priority,
		})
		ev = ask
	}
	return &incoming{control: c, Message: engine.Message{OrderID: c.OrderID, Event: ev}}
}

func newReply(r *message.Reply, d *port.Delivery, inQueue core.Duration) *incoming {
	role, _, _ := strings.Cut(d.Sender, ":") // SQS's SenderId is "AROA…:session"
	return &incoming{waited: r.Waited + inQueue, Message: engine.Message{
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
