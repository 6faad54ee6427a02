package scheduler

import (
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// refused counts a refusal, and notifies the sender of the reason. If the sender cannot be notified,
// acknowledge puts the message into quarantine, so that no message is lost without a trace.
func (s *Scheduler) refused(m *engine.Message, replyTo string, status core.Status) {
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
func (s *Scheduler) notify(m *engine.Message, replyTo string, status core.Status) {
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
