package memory

import (
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
)

// QueueConfig describes one queue.
type QueueConfig struct {
	Name        string
	MaxReceives int    // receives before a message goes to the dead letters; 0: never
	DeadLetter  string // the queue, by name, that dead letters go to; required with MaxReceives unless DeadLetterTo is set
	// DeadLetterTo is a dead-letter queue elsewhere, a durable one for instance. While it does not
	// take a message, the message stays here, invisible for the time that its receiver asked for.
	DeadLetterTo port.Queue
	Capacity     int           // messages that it holds at most, in flight ones included; 0: no limit
	Retention    time.Duration // age at which a message expires; 0: never
}

// Queues is a port.Queues in memory. Safe for concurrent use.
type Queues struct {
	queueset.Set[*Queue]
	clock port.Clock
}

// NewQueues makes the queues. replyTo names those that an order may name as its reply-to.
func NewQueues(clock port.Clock, queues []QueueConfig, replyTo ...string) (*Queues, error) {
	q := &Queues{clock: clock}
	if err := q.Add(queues...); err != nil {
		return nil, err
	}
	for _, name := range replyTo {
		if err := q.AllowReplyTo(name); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// Add makes further queues while the others are in use. On an error none is added.
func (q *Queues) Add(queues ...QueueConfig) error {
	configs := make([]queueset.Config, len(queues))
	for i, c := range queues {
		configs[i] = queueset.Config{Name: c.Name, MaxReceives: c.MaxReceives, DeadLetter: c.DeadLetter,
			Elsewhere: c.DeadLetterTo != nil, Capacity: c.Capacity, Retention: c.Retention}
	}
	return q.Set.Add(configs,
		func(i int) *Queue { return newQueue(q.clock, queues[i]) },
		func(queue, dead *Queue) { queue.dead = dead })
}
