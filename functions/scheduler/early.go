package scheduler

import (
	"context"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// earlyDelays are the waits before an answer to an unknown order is handled again: an event may come before
// the order that waits for it (P36).
var earlyDelays = [...]time.Duration{5 * time.Second, time.Minute, port.MaxDelay}

// isEarly reports an answer from the queue that is refused because its order is not there yet.
func (it *item) isEarly(r *message.Refusal) bool {
	return r.Code == core.CodeUnknownTask && it.control != nil && it.control.Kind == message.Answer &&
		it.control.Tries < len(earlyDelays)
}

// sendAgain puts an answer into the queue once more, with a delay.
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
