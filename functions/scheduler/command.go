package scheduler

import (
	"cmp"
	"context"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

type command struct {
	engine.Message
	control *message.Control
	queued  bool // the command came through a queue
}

func (in *command) decided() *engine.Message { return &in.Message }

func newCommand(c *message.Control, queued bool) *command {
	return &command{
		control: c, queued: queued,
		Message: engine.Message{OrderID: c.OrderID, Event: c.Event},
	}
}

// answer notifies the sender of a refused command. The status goes to the reply-to of the command, or else to
// the reply-to of the order. The task also stores the verdict (P5, commands have a number and an ID).
func (in *command) answer(s *Scheduler) {
	c := in.control
	t := in.Decision.Task
	v := in.Decision.Verdict
	switch {
	case in.early():
	case in.Refusal != nil && in.queued:
		s.refused(&in.Message, c.ReplyTo, core.Status{
			Kind:    core.StatusCommandRefused,
			Command: string(c.Kind()), CommandID: c.ID(),
		})
	case in.Refusal != nil: // the method Scheduler.Command returns the refusal
		s.refused(&in.Message, "", core.Status{})
	case in.queued && v != nil && !v.Accepted:
		s.notify(&in.Message, cmp.Or(c.ReplyTo, t.ReplyTo),
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
func (in *command) early() bool {
	return in.queued && in.Refusal != nil && in.Refusal.Code == core.CodeUnknownTask &&
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
