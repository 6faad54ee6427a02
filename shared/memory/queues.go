package memory

import (
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
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
	clock port.Clock

	mu      sync.RWMutex
	queues  map[string]*Queue
	replyTo map[string]bool
}

// NewQueues makes the queues. replyTo names those that an order may name as its reply-to.
func NewQueues(clock port.Clock, queues []QueueConfig, replyTo ...string) (*Queues, error) {
	q := &Queues{clock: clock, queues: map[string]*Queue{}, replyTo: map[string]bool{}}
	if err := q.Add(queues...); err != nil {
		return nil, err
	}
	for _, name := range replyTo {
		if q.queues[name] == nil {
			return nil, fmt.Errorf("reply-to %q: there is no queue of that name", name)
		}
		q.replyTo[name] = true
	}
	return q, nil
}

// Add makes further queues while the others are in use. On an error none is added.
func (q *Queues) Add(queues ...QueueConfig) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	made := make(map[string]*Queue, len(queues))
	for _, c := range queues {
		if c.Name == "" {
			return fmt.Errorf("a queue without a name")
		}
		if q.queues[c.Name] != nil || made[c.Name] != nil {
			return fmt.Errorf("queue %q is configured twice", c.Name)
		}
		if c.MaxReceives < 0 || c.Capacity < 0 || c.Retention < 0 {
			return fmt.Errorf("queue %q: its limits must not be negative", c.Name)
		}
		made[c.Name] = newQueue(q.clock, c)
	}
	for _, c := range queues {
		if c.MaxReceives == 0 || c.DeadLetterTo != nil {
			continue
		}
		dead := made[c.DeadLetter]
		if dead == nil {
			dead = q.queues[c.DeadLetter]
		}
		if dead == nil || c.DeadLetter == c.Name {
			return fmt.Errorf("queue %q: its dead-letter queue %q is no other queue", c.Name, c.DeadLetter)
		}
		made[c.Name].dead = dead
	}
	for _, c := range queues {
		q.queues[c.Name] = made[c.Name]
	}
	return nil
}

// AllowReplyTo lets orders name that queue as their reply-to. ErrNotFound where there is none.
func (q *Queues) AllowReplyTo(name string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues[name] == nil {
		return fmt.Errorf("reply-to %q: %w", name, port.ErrNotFound)
	}
	q.replyTo[name] = true
	return nil
}

// Queue answers a *Queue.
func (q *Queues) Queue(name string) (port.Queue, error) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if found := q.queues[name]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("queue %q: %w", name, port.ErrNotFound)
}

// ReplyTo answers a *Queue that orders may name.
func (q *Queues) ReplyTo(name string) (port.Queue, error) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.replyTo[name] {
		return q.queues[name], nil
	}
	return nil, fmt.Errorf("reply-to %q is not in the list that was deployed: %w", name, port.ErrNotFound)
}

// Names lists the queues, sorted.
func (q *Queues) Names() []string {
	q.mu.RLock()
	defer q.mu.RUnlock()
	names := make([]string, 0, len(q.queues))
	for name := range q.queues {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
