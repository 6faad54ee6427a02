package memory

import (
	"fmt"
	"math"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
)

// QueueConfig configures one queue.
type QueueConfig struct {
	Name        string
	MaxReceives int // receives after which a message goes to the dead-letter queue; 0 means never
	// DeadLetterTo is the dead-letter queue. It is required if MaxReceives is not 0. While the dead-letter
	// queue does not accept a message, the message stays in this queue. A later receive tries again to move
	// the message.
	DeadLetterTo port.Queue
	Retention    time.Duration // age at which a message expires; 0 means never
	// First is the number before that of the first message. Later messages get the next numbers. If First is
	// higher than all numbers of a previous process, the receipts of the previous process are not valid.
	First int64
}

// Queues implements port.Queues in memory. A Queues is safe for concurrent use.
type Queues struct {
	queueset.Set[*Queue]
	clock port.Timer
}

// NewQueues returns a Queues with these queues. replyTo lists the queues that an order may name as its
// reply-to.
func NewQueues(clock port.Timer, queues []QueueConfig, replyTo ...string) (*Queues, error) {
	q := &Queues{clock: clock}
	for _, c := range queues {
		if err := q.Add(c); err != nil {
			return nil, err
		}
	}
	return q, q.AllowReplyTo(replyTo...)
}

// Next returns the time when the first delayed or in-flight message of any queue becomes visible. The result
// some is false if there is no such message.
func (q *Queues) Next() (at time.Time, some bool) {
	first := int64(math.MaxInt64)
	now := q.clock.Now()
	for _, name := range q.QueueNames() {
		found, err := q.Queue(name)
		if err != nil {
			continue // cannot happen, because QueueNames lists only existing queues
		}
		if at, hidden := found.(*Queue).next(now); hidden {
			first = min(first, at)
			some = true
		}
	}
	return time.Unix(0, first).UTC(), some
}

// Add adds a queue. The caller must add all queues before other goroutines use q.
func (q *Queues) Add(c QueueConfig) error {
	if c.MaxReceives < 0 || c.MaxReceives > 0 && c.DeadLetterTo == nil {
		return fmt.Errorf("queue %q: %d receives before a message goes to which dead-letter queue?", c.Name,
			c.MaxReceives)
	}
	return q.Set.Add(c.Name, c.Retention, newQueue(q.clock, c))
}
