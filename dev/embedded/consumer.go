package embedded

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	pollWait   = 20 * time.Second
	visibility = 30 * time.Second
)

// consumer moves messages from a queue into a handler, until receiving ends. Messages in the handler finish
// under the context work, so that a drain can let them end.
type consumer struct {
	queue  port.Queue
	handle func(ctx context.Context, queue string, deliveries []port.Delivery) (failed []string)
	clock  port.Clock
	log    *slog.Logger
}

func (p *consumer) run(receiving, work context.Context) {
	for receiving.Err() == nil {
		deliveries, err := p.queue.Receive(receiving, port.MaxBatch, pollWait, visibility)
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
			// later than that, another handler may have the same messages, with effects still to send (P12a,
			// who emits again)
			if p.clock.Now().Sub(begun) < visibility {
				p.finish(work, deliveries, failed)
			}
		}
	}
}

// finish deletes handled messages and returns failed ones, after a wait that grows with each delivery. So a
// full disk or an outage does not cause a flood of retries, or fill the dead-letter queue within a second.
func (p *consumer) finish(ctx context.Context, deliveries []port.Delivery, failed []string) {
	bad := make(map[string]bool, len(failed))
	for _, receipt := range failed {
		bad[receipt] = true
	}
	done := make([]string, 0, len(deliveries))
	for i := range deliveries {
		d := &deliveries[i]
		if !bad[d.Receipt] {
			done = append(done, d.Receipt)
			continue
		}
		if err := p.queue.Extend(ctx, d.Receipt, d.Backoff(visibility)); err != nil {
			p.log.Debug("not returned to its queue; it comes again by itself", "queue", p.queue.Name(),
				"messageId", d.ID, "error", err)
		}
	}
	if len(done) == 0 {
		return
	}
	for _, err := range p.queue.Delete(ctx, done) {
		if err != nil {
			p.log.Debug("not deleted; it comes again, which is harmless", "queue", p.queue.Name(), "error",
				err)
		}
	}
}
