package scheduler

import (
	"context"
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// incoming is a message of a queue or of a call: a submission, a reply, a command, or a message of another task.
type incoming struct {
	engine.Message
	order   *message.SubmitOrder // submission
	control *message.Control     // command, or message of another task
	queued  bool                 // the submission or command came through a queue
	waited  core.Duration        // time that the request and the reply waited in queues
	ready   bool                 // the message can be decided
}

func (in *incoming) about() []any {
	if in.OrderID == "" {
		return nil
	}
	return engine.About(in.OrderID, in.Event)
}

// Handle handles deliveries of one queue: intake, replies, control or tasks. It returns the receipts of the
// messages that must come again. All other messages may be deleted, because their effects are stored and sent
// (P13, delete after sending).
func (s *Scheduler) Handle(ctx context.Context, queueName string,
	deliveries []port.Delivery,
) (failed []string) {
	var batch engine.Batch
	ins := make([]*incoming, len(deliveries))
	all := make([]*incoming, 0, len(deliveries))
	now := s.now()
	for i := range deliveries {
		ins[i] = s.read(ctx, queueName, &deliveries[i], now)
		if ins[i].ready {
			batch.Add(&ins[i].Message)
			all = append(all, ins[i])
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
	for i, in := range ins {
		if err := s.acknowledge(ctx, queueName, &deliveries[i], in); err != nil {
			s.log.Warn("message returned to its queue", append(in.about(), "queue", queueName, "messageId",
				deliveries[i].ID, "error", err)...)
			failed = append(failed, deliveries[i].Receipt)
		}
	}
	return failed
}

func (s *Scheduler) run(ctx context.Context, jobs []*engine.Job, all []*incoming) {
	s.engine.Decide(ctx, s.engine.Load(ctx, jobs))
	for _, in := range all {
		if in.Err != nil {
			continue
		}
		err := port.Guard(s.log, "answering the sender", func() error { in.answer(s); return nil })
		if err != nil { // the message comes again, and its effects are sent again
			in.Err = err
		}
	}
	s.replied(ctx, s.engine.Deliver(ctx, jobs))
}

// acknowledge finishes a message. After an error the message comes again.
func (s *Scheduler) acknowledge(ctx context.Context, queueName string, d *port.Delivery, in *incoming) error {
	switch {
	case !in.ready || in.Err != nil:
		return in.Err
	case in.early():
		return s.sendAgain(ctx, in.control)
	}
	in.recordQueueWait(s)
	if in.Refusal != nil && len(in.Answer) == 0 {
		return s.quarantine(ctx, queueName, d, in, in.Refusal.Text)
	}
	return nil
}

// read decodes a delivery of a batch. The content of a message never affects the other messages of the batch. A message
// that is not ready may be deleted if its Err is nil.
func (s *Scheduler) read(ctx context.Context, queueName string, d *port.Delivery, now core.Time) *incoming {
	in, err := s.decode(queueName, d, now)
	if in == nil {
		in = &incoming{}
	}
	in.ready = err == nil
	in.Again = d.Received > 1
	switch {
	case err == nil:
	case errors.Is(err, message.ErrUnreadable):
		in.Err = s.unreadable(ctx, queueName, d, in, err)
	default: // the message has a newer schema and waits for a newer program, or the queue is wrong
		in.Err = err
		s.count("returned", queueName)
	}
	return in
}

// unreadable refuses a submission whose sender is known, and puts every other message into quarantine.
// A submission that is too large is refused and also goes to quarantine, because only the quarantine
// keeps the hash of the order.
func (s *Scheduler) unreadable(ctx context.Context, queueName string, d *port.Delivery, in *incoming,
	err error,
) error {
	if in.order != nil && in.OrderID != "" && errors.As(err, &in.Refusal) {
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
	failed := s.quarantine(ctx, queueName, d, in, err.Error())
	if failed == nil {
		s.count("quarantined", queueName)
	}
	return failed
}

func (s *Scheduler) quarantine(ctx context.Context, queueName string, d *port.Delivery, in *incoming,
	reason string,
) error {
	kept := message.Quarantine(queueName, *d, reason, s.now())
	q, err := s.cfg.Queues.Queue(port.Quarantine)
	if err == nil {
		err = q.Send(ctx, []port.Message{{Value: kept}})[0]
	}
	if err == nil {
		s.log.Warn("message put into quarantine", append(in.about(), "queue", queueName, "messageId", d.ID,
			"reason", kept.Reason)...)
	}
	return err
}
