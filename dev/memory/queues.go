package memory

import (
	"fmt"
	"math"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
)

// QueueConfig describes one queue.
type QueueConfig struct {
	Name        string
	MaxReceives int // receives before a message goes to the dead letters; 0 means never
	// DeadLetterTo is the dead-letter queue, required with MaxReceives. While it does not accept a message,
	// the message stays here, invisible for the time that its receiver asked for.
	DeadLetterTo port.Queue
	Retention    time.Duration // age at which a message expires; 0 means never
	// The first message gets the number First + 1. If First is above the numbers of an earlier process, no
	// receipt of that process is valid.
	First uint64
}

// Queues implements port.Queues in memory. It is safe for concurrent use.
type Queues struct {
	queueset.Set[*Queue]
	clock port.Clock
}

// NewQueues returns the queues. replyTo lists the queues that an order may name as its reply-to.
func NewQueues(clock port.Clock, queues []QueueConfig, replyTo ...string) (*Queues, error) {
	q := &Queues{clock: clock}
	for _, c := range queues {
		if err := q.Add(c); err != nil {
			return nil, err
		}
	}
	return q, q.AllowReplyTo(replyTo...)
}

// Next returns the time when the first hidden message of any queue becomes visible, or false if none is
// hidden.
func (q *Queues) Next() (at time.Time, some bool) {
	first := int64(math.MaxInt64)
	now := q.clock.Now()
	for _, name := range q.QueueNames() {
		found, err := q.Queue(name)
		if err != nil {
			continue // the name has just been listed
		}
		if at, hidden := found.(*Queue).next(now); hidden {
			first, some = min(first, at), true
		}
	}
	return time.Unix(0, first).UTC(), some
}

// Add adds a queue, before others use the queues.
func (q *Queues) Add(c QueueConfig) error {
	if c.MaxReceives < 0 || c.MaxReceives > 0 && c.DeadLetterTo == nil {
		return fmt.Errorf("queue %q: %d receives before a message goes to which dead-letter queue?", c.Name,
			c.MaxReceives)
	}
	return q.Set.Add(c.Name, c.Retention, newQueue(q.clock, c))
}
