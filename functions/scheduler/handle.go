package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// incoming is a decoded message: a submission, a reply, a command, or a message of another task.
type incoming interface {
	// decided returns the message of package engine. It contains the event and the result of the decision.
	decided() *engine.Message
	// answer adds the answer for the sender of the message.
	answer(s *Scheduler)
}

// Handle handles deliveries of one queue: intake, replies, control or tasks. It returns the receipts of the
// messages that must come again. All other messages may be deleted, because their effects are stored and sent
// (P13, delete after sending).
func (s *Scheduler) Handle(ctx context.Context, queueName string,
	deliveries []port.Delivery,
) (failed []string) {
	var batch engine.Batch
	letters := make([]letter, len(deliveries))
	all := make([]incoming, 0, len(deliveries))
	now := s.now()
	for i := range deliveries {
		l := &letters[i]
		*l = s.read(ctx, queueName, &deliveries[i], now)
		if l.ready {
			batch.Add(l.in.decided())
			all = append(all, l.in)
		}
	}
	s.measure(ctx)
	s.run(ctx, batch.Jobs, all)
	for _, j := range batch.Jobs {
		if j.Definition != nil {
			s.lengths.choosable(j.Definition)
		}
	}
	s.replied(ctx, batch.Jobs)
	for i := range letters {
		l := &letters[i]
		if err := s.acknowledge(ctx, queueName, &deliveries[i], l); err != nil {
			s.log.Warn("message returned to its queue", append(l.about(), "queue", queueName, "messageId",
				deliveries[i].ID, "error", err)...)
			failed = append(failed, deliveries[i].Receipt)
		}
	}
	return failed
}

func (s *Scheduler) run(ctx context.Context, jobs []*engine.Job, all []incoming) {
	s.engine.Decide(ctx, s.engine.Load(ctx, jobs))
	for _, in := range all {
		m := in.decided()
		if m.Err != nil {
			continue
		}
		err := port.Guard(s.log, "answering the sender", func() error { in.answer(s); return nil })
		if err != nil { // the message comes again, and its effects are sent again
			m.Err = err
		}
	}
	s.replied(ctx, s.engine.Deliver(ctx, jobs))
}

// acknowledge finishes a message. After an error the message comes again.
func (s *Scheduler) acknowledge(ctx context.Context, queueName string, d *port.Delivery, l *letter) error {
	if !l.ready {
		return l.err
	}
	m := l.in.decided()
	if m.Err != nil {
		return m.Err
	}
	switch in := l.in.(type) {
	case *command:
		if in.early() {
			return s.sendAgain(ctx, in.control)
		}
	case *reply:
		in.recordQueueWait(s)
	}
	if m.Refusal != nil && len(m.Answer) == 0 {
		return s.quarantine(ctx, queueName, d, l, m.Refusal.Text)
	}
	return nil
}

type letter struct {
	in    incoming // nil if the message could not be read
	ready bool     // the message can be decided
	err   error    // reason why a message that is not ready must come again; nil if it may be deleted
}

func (l *letter) about() []any {
	if l.in == nil || l.in.decided().OrderID == "" {
		return nil
	}
	return engine.About(l.in.decided().OrderID, l.in.decided().Event)
}

// read decodes a delivery of a batch. The content of a message never affects the other messages of the batch.
func (s *Scheduler) read(ctx context.Context, queueName string, d *port.Delivery, now core.Time) (l letter) {
	in, err := s.decode(queueName, d, now)
	l = letter{in: in, ready: err == nil, err: err}
	switch {
	case err == nil:
		in.decided().Again = d.Received > 1
	case errors.Is(err, message.ErrUnreadable):
		l.err = s.unreadable(ctx, queueName, d, &l, err)
	default: // the message has a newer schema and waits for a newer program, or the queue is wrong
		s.count("returned", queueName)
	}
	return l
}

func (s *Scheduler) decode(queueName string, d *port.Delivery, now core.Time) (in incoming, err error) {
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

// unreadable refuses a submission whose sender is known, and puts every other message into quarantine.
// A submission that is too large is refused and also goes to quarantine, because only the quarantine
// keeps the hash of the order.
func (s *Scheduler) unreadable(ctx context.Context, queueName string, d *port.Delivery, l *letter,
	err error,
) error {
	in, submitted := l.in.(*submission)
	if submitted && in.OrderID != "" && errors.As(err, &in.Refusal) {
		in.refuse(s)
		if in.Err == nil {
			in.Err = s.engine.Send(ctx, in.Answer...)
		}
		if errors.Is(in.Err, engine.ErrUnsent) { // the sender is gone, so the message goes to quarantine
			in.Err = nil
			in.Answer = nil
		}
		if in.Err != nil || len(in.Answer) > 0 && in.Refusal.Code != message.CodeTooLarge {
			return in.Err
		}
	}
	failed := s.quarantine(ctx, queueName, d, l, err.Error())
	if failed == nil {
		s.count("quarantined", queueName)
	}
	return failed
}

func (s *Scheduler) quarantine(ctx context.Context, queueName string, d *port.Delivery, l *letter,
	reason string,
) error {
	kept := message.Quarantine(queueName, *d, reason, s.now())
	q, err := s.cfg.Queues.Queue(port.Quarantine)
	if err == nil {
		err = q.Send(ctx, []port.Message{{Value: kept}})[0]
	}
	if err == nil {
		s.log.Warn("message put into quarantine", append(l.about(), "queue", queueName, "messageId", d.ID,
			"reason", kept.Reason)...)
	}
	return err
}
