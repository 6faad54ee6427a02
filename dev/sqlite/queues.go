package sqlite

import (
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
)

// QueueConfig describes one durable queue.
type QueueConfig struct {
	Name        string
	MaxReceives int           // receives before a message goes to the dead letters; 0: never
	DeadLetter  string        // the durable queue, by name, that dead letters go to; required with MaxReceives
	Capacity    int           // messages that it holds at most, in flight ones included; 0: no limit
	Retention   time.Duration // age at which a message expires; 0: never
}

// Queues is a port.Queues whose messages survive. Safe for concurrent use.
type Queues struct {
	queueset.Set[*Queue]
	store *Store
	clock port.Clock
}

// Add makes further queues while the others are in use. On an error none is added. Messages of an
// earlier process are in them.
func (q *Queues) Add(queues ...QueueConfig) error {
	configs := make([]queueset.Config, len(queues))
	for i, c := range queues {
		configs[i] = queueset.Config{Name: c.Name, MaxReceives: c.MaxReceives, DeadLetter: c.DeadLetter, Capacity: c.Capacity, Retention: c.Retention}
	}
	return q.Set.Add(configs,
		func(i int) *Queue { return newQueue(q.store, q.clock, queues[i]) },
		func(queue, dead *Queue) { queue.dead = dead })
}
