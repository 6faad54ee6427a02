package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// item is one message, and what became of it.
type item struct {
	engine.Message
	s       *Scheduler
	receipt string
	id      string // of its task; "" where it cannot be read
	direct  bool   // a submission that came without a queue
	ev      core.Event
	submit  *message.SubmitOrder // with core.Submitted
	control *message.Control     // a command or a wake that came through the queue
	waited  core.Duration        // of a reply
	from    sender               // of a reply
	token   string               // of an answer (P39)
	moveTo  string               // of a command that moves the task: a hash, or message.Latest
	lesson  lesson               // of a reply

	answered bool // its sender was sent an answer
	early    bool // an answer to an order that is not there yet
	known    bool // a submission of an order that was there
	refusal  *message.Refusal
	verdict  *core.Verdict
}

// Handle takes deliveries of one queue: intake, replies, control or tasks. It answers the receipts of
// those that must come again; all others may be deleted, since whatever they led to is stored and
// sent (P13).
func (s *Scheduler) Handle(ctx context.Context, queueName string,
	deliveries []port.Delivery) (failed []string) {
	var batch engine.Batch
	items := make([]*item, len(deliveries))
	for i := range deliveries {
		var id string
		if id, items[i] = s.read(ctx, queueName, &deliveries[i]); id != "" {
			batch.Add(id, items[i])
		}
	}
	s.measure(ctx)
	s.engine.Run(ctx, batch.Jobs)
	for _, j := range batch.Jobs {
		if j.Definition != nil {
			s.lengths.choosable(j.Definition)
		}
	}
	for i, it := range items {
		if it.Err == nil && it.early {
			it.Err = s.sendAgain(ctx, it.control)
		} else if it.Err == nil && it.refusal != nil && !it.answered {
			it.Err = s.quarantine(ctx, queueName, &deliveries[i], it, it.refusal.Text)
		}
		if it.Err != nil {
			s.log.Warn("message returned to its queue", append(it.about(), "queue", queueName, "messageId",
				deliveries[i].ID, "error", it.Err)...)
			failed = append(failed, it.receipt)
		} else {
			it.learn()
		}
	}
	return failed
}

// about says to the log which task a message is of, as far as it could be read.
func (it *item) about() []any {
	if it.id != "" {
		return engine.About(it.id, it.ev)
	}
	if it.submit != nil {
		if id, _ := it.submit.Known(); id != "" {
			return []any{"order", id}
		}
	}
	return nil
}

// read decodes a delivery. The ID is "" where nothing is left to do for the message but what its
// err says. Nothing that a message holds affects the rest of its batch.
func (s *Scheduler) read(ctx context.Context, queueName string, d *port.Delivery) (id string, it *item) {
	it = &item{s: s, receipt: d.Receipt, Message: engine.Message{Again: d.Received > 1}}
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%w: reading it panicked: %v", message.ErrUnreadable, p)
			}
		}()
		id, err = s.decode(queueName, d, it)
		it.id = id
		return err
	}()
	switch {
	case err == nil:
	case errors.Is(err, message.ErrUnreadable):
		s.unreadable(ctx, queueName, d, it, err)
		id = ""
	default: // a newer schema waits for a newer program; a queue that is not ours is a mistake in wiring
		s.count("returned", queueName)
		it.Err, id = err, ""
	}
	return id, it
}

func (s *Scheduler) decode(queueName string, d *port.Delivery, it *item) (id string, err error) {
	switch queueName {
	case port.Intake, port.High(port.Intake):
		o, c, err := message.IntakeOf(*d)
		if c != nil {
			return it.command(c), nil
		}
		it.submit = &o
		if err != nil {
			return "", err
		}
		it.ev, it.New = submitted(&o), true
		return o.OrderID, nil
	case port.Replies:
		r, err := message.ReplyOf(*d)
		if err != nil {
			return "", err
		}
		it.ev, it.waited, it.from = replied(r), r.Waited+s.inQueue(d), senderOf(r, d)
		return r.OrderID, nil
	case port.Control:
		c, err := message.ControlOf(*d)
		if err != nil {
			return "", err
		}
		return it.command(c), nil
	case port.Tasks:
		m, err := message.ChildOf(*d)
		if err != nil {
			return "", err
		}
		return it.child(m), nil
	}
	return "", fmt.Errorf("queue %q is not one of the Scheduler's", queueName)
}

// command makes the item a command, or a wake, and returns its order's ID.
func (it *item) command(c *message.Control) string {
	it.ev, it.control, it.moveTo, it.token = controlled(c), c, c.Definition, c.Token
	return c.OrderID
}

// inQueue is how long a reply has waited for the Scheduler, which is time in a queue too (P32). One that
// comes again was returned to the queue, and says nothing of the queue.
func (s *Scheduler) inQueue(d *port.Delivery) core.Duration {
	if d.SentAt.IsZero() || d.Received > 1 {
		return 0
	}
	return max(0, s.now().Sub(core.TimeOf(d.SentAt)))
}

func submitted(o *message.SubmitOrder) core.Submitted {
	priority := o.Priority
	if priority == message.PriorityNormal {
		priority = ""
	}
	return core.Submitted{
		OrderID: o.OrderID, Workflow: o.Workflow, ContentHash: message.ContentHash(*o),
		Priority: priority, ReplyTo: o.ReplyTo, Deadline: o.Deadline,
	}
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

// printable is a note as it can be shown in one line.
func printable(note string) string {
	return strings.Map(func(c rune) rune {
		if core.Unprintable(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(note, "\ufffd"))
}

func controlled(c *message.Control) core.Event {
	from := core.Sender{By: strings.ToValidUTF8(c.By, "\ufffd"),
		Reason: strings.ToValidUTF8(c.Reason, "\ufffd")}
	switch c.Kind {
	case message.Wake:
		return core.Wake{Step: c.Step, Run: c.Run, Attempt: c.Attempt}
	case message.Settle:
		return core.Settle{}
	case message.Cancel:
		return core.Cancel{OrderID: c.OrderID, ID: c.ID, Run: c.Run, Sender: from}
	case message.Undo:
		return core.UndoCommand{ID: c.ID, Command: c.Command, Sender: from}
	case message.Resubmit:
		return core.Resubmit{ID: c.ID, Command: c.Command, Deadline: c.Deadline, Step: c.Step, Input: c.Input,
			Sender: from}
	case message.Move:
		return core.Move{ID: c.ID, Command: c.Command, Sender: from}
	case message.Close:
		return core.Close{ID: c.ID, Command: c.Command, Sender: from}
	case message.Erase:
		return core.Erase{ID: c.ID, Command: c.Command, Sender: from}
	case message.Answer:
		return core.Answered{ID: c.ID, Run: c.Run, Step: c.Step, Name: c.Name, Round: c.Round, Value: c.Value,
			By: c.By, Note: from.Reason, Token: c.Token != ""}
	default: // Check knows no other
		return core.Resolve{ID: c.ID, Command: c.Command, Step: c.Step, Fact: c.Fact, Output: c.Output,
			Sender: from}
	}
}

// unreadable refuses a submission whose sender is known, and puts everything else into quarantine;
// a submission that is too large both, since no one else has kept its hash.
func (s *Scheduler) unreadable(ctx context.Context, queueName string, d *port.Delivery, it *item, err error) {
	var r *message.Refusal
	if errors.As(err, &r) && it.submit != nil {
		if id, replyTo := it.submit.Known(); id != "" {
			reported := it.refuse(id, replyTo, r)
			if it.Err == nil {
				it.Err = s.engine.Send(ctx, reported...)
			}
		}
	}
	if it.Err != nil || it.answered && r.Code != message.CodeTooLarge {
		return
	}
	s.count("quarantined", queueName)
	it.Err = s.quarantine(ctx, queueName, d, it, err.Error())
	it.refusal = nil
}

// quarantine keeps the message for the operator, with the reason.
func (s *Scheduler) quarantine(ctx context.Context, queueName string, d *port.Delivery, it *item,
	reason string) error {
	kept := message.Quarantine(queueName, *d, reason, s.now())
	s.log.Warn("message put into quarantine", append(it.about(), "queue", queueName, "messageId", d.ID,
		"reason", kept.Reason)...)
	q, err := s.cfg.Queues.Queue(port.Quarantine)
	if err != nil {
		return err
	}
	return q.Send(ctx, []port.Message{{Value: kept}})[0]
}
