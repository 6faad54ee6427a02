// Package inprocess runs the actors in one process. It provides queues in memory and a replacement for
// Lambda's event source mapping.
package inprocess

import (
	"context"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Queues returns queues in memory with the given names, and with the names in replyTo. The queues in replyTo
// are for statuses to applications.
func Queues(clock port.Timer, replyTo []string, names ...string) (*memory.Queues, error) {
	var configs []memory.QueueConfig
	for _, name := range append(names, replyTo...) {
		configs = append(configs, memory.QueueConfig{Name: name})
	}
	return memory.NewQueues(clock, configs, replyTo...)
}

// Mapping replaces Lambda's event source mapping for one queue.
type Mapping struct {
	Queue      port.Queue
	Batch      int
	Visibility time.Duration
	// Handle processes a batch. It returns the receipts of the failed messages, which must go back to the
	// queue.
	Handle func(ctx context.Context, queue string, batch []port.Delivery) []string
}

// Step receives one batch, passes it to Handle and finishes it. It returns the batch.
func (m Mapping) Step(ctx context.Context, wait time.Duration) ([]port.Delivery, error) {
	batch, err := m.Queue.Receive(ctx, m.Batch, wait, m.Visibility)
	if err != nil || len(batch) == 0 {
		return nil, err
	}
	return batch, port.Finish(ctx, m.Queue, batch, m.Handle(ctx, m.Queue.Name(), batch), m.Visibility)
}
