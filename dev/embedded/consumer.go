package embedded

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	pollWait          = 20 * time.Second
	visibility        = 30 * time.Second
	schedulerCapacity = 240 // messages of each of the Scheduler's queues that are handled at once
)

// batchOf returns the largest number of messages that a consumer takes from one of the Scheduler's queues. The
// batches are small, because each consumer waits for a group commit. They are large for the messages between orders:
// all children of an order report to it, the messages of a batch for one order make one commit, and many consumers
// would lose most commits to each other (P8, every commit is conditional).
func batchOf(queue string) int {
	if queue == port.Tasks {
		return schedulerCapacity / 4
	}
	return port.MaxBatch
}

// consumer receives messages from a queue and passes them to a handler. The method run has two contexts:
//
//   - The consumer stops when the context receiving ends.
//   - The handler runs with the context work, which ends later, so that a running handler can finish.
type consumer struct {
	queue  port.Queue // in memory, where a batch may have any length
	handle func(ctx context.Context, queue string, deliveries []port.Delivery) (failed []string)
	clock  port.Clock
	log    *slog.Logger
}

func (p *consumer) run(receiving, work context.Context) {
	for receiving.Err() == nil {
		deliveries, err := p.queue.Receive(receiving, batchOf(p.queue.Name()), pollWait, visibility)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				p.log.Error("cannot receive; trying again", "queue", p.queue.Name(), "error", err)
				_ = port.Sleep(receiving, time.Second)
			}
			continue
		}
		if len(deliveries) > 0 {
			begun := p.clock.Now()
			failed := p.handle(work, p.queue.Name(), deliveries)
			// After the visibility timeout, another consumer may have received the messages. Keep the
			// messages then, because that consumer may still have to send their effects (P12a, who emits
			// again).
			if p.clock.Now().Sub(begun) < visibility {
				// Without a delay before the next delivery, a full disk would soon fill the dead-letter queue.
				err := port.Finish(work, p.queue, deliveries, failed, visibility)
				if err != nil {
					p.log.Debug("not deleted, or not returned to its queue; it comes again by itself", "queue",
						p.queue.Name(), "error", err)
				}
			}
		}
	}
}
