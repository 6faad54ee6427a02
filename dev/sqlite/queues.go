package sqlite

import (
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
)

// QueueConfig configures one queue.
type QueueConfig struct {
	Name      string
	Retention time.Duration // age at which a message expires; 0 means never
}

// Queues implements port.Queues. The messages survive the process. A Queues is safe for concurrent use.
type Queues struct{ queueset.Set[*Queue] }

func (s *Store) makeQueues(o Options) error {
	s.queues = &Queues{}
	for _, c := range o.Queues {
		q := &Queue{store: s, clock: o.Clock, config: c, changed: make(chan struct{})}
		if err := s.queues.Add(c.Name, c.Retention, q); err != nil {
			return err
		}
	}
	return s.queues.AllowReplyTo(o.ReplyTo...)
}
