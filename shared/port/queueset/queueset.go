// Package queueset keeps the queues of an adapter that makes them itself: by name, each with its
// dead-letter queue, and which of them an order may name as its reply-to.
package queueset

import (
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Config is what is checked of a queue before it is made.
type Config struct {
	Name        string
	MaxReceives int // receives before a message goes to the dead letters; 0: never
	// DeadLetter is the queue of the set, by name, that dead letters go to; required with MaxReceives
	// unless Elsewhere says that they leave the set.
	DeadLetter string
	Elsewhere  bool
	Capacity   int           // messages; 0: no limit
	Retention  time.Duration // age at which a message expires; 0: never
}

// Set is the queues, and most of a port.Queues; the zero value is empty. Safe for concurrent use.
type Set[Q port.Queue] struct {
	mu      sync.RWMutex
	queues  map[string]Q
	replyTo map[string]bool
}

// Add makes further queues while the others are in use: newQueue makes that of configs[i], bury
// tells a new one where its dead letters go. On an error none is added.
func (s *Set[Q]) Add(configs []Config, newQueue func(i int) Q, bury func(queue, dead Q)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := make(map[string]Q, len(configs))
	for i, c := range configs {
		_, there := s.queues[c.Name]
		_, twice := made[c.Name]
		switch {
		case c.Name == "":
			return fmt.Errorf("a queue without a name")
		case there || twice:
			return fmt.Errorf("queue %q is configured twice", c.Name)
		case c.MaxReceives < 0 || c.Capacity < 0 || c.Retention < 0:
			return fmt.Errorf("queue %q: its limits must not be negative", c.Name)
		}
		made[c.Name] = newQueue(i)
	}
	for _, c := range configs {
		if c.MaxReceives == 0 || c.Elsewhere {
			continue
		}
		dead, there := made[c.DeadLetter]
		if !there {
			dead, there = s.queues[c.DeadLetter]
		}
		if !there || c.DeadLetter == c.Name {
			return fmt.Errorf("queue %q: its dead-letter queue %q is no other queue", c.Name, c.DeadLetter)
		}
		bury(made[c.Name], dead)
	}
	if s.queues == nil {
		s.queues, s.replyTo = map[string]Q{}, map[string]bool{}
	}
	for name, q := range made {
		s.queues[name] = q
	}
	return nil
}

// AllowReplyTo lets orders name that queue as their reply-to. ErrNotFound where there is none.
func (s *Set[Q]) AllowReplyTo(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.queues[name]; !there {
		return fmt.Errorf("reply-to %q, there is no queue of that name: %w", name, port.ErrNotFound)
	}
	s.replyTo[name] = true
	return nil
}

// Queue answers a Q. ErrNotFound where there is none of that name.
func (s *Set[Q]) Queue(name string) (port.Queue, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found, there := s.queues[name]; there {
		return found, nil
	}
	return nil, fmt.Errorf("queue %q: %w", name, port.ErrNotFound)
}

// ReplyTo answers a Q that orders may name. ErrNotFound for every other name.
func (s *Set[Q]) ReplyTo(name string) (port.Queue, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.replyTo[name] {
		return s.queues[name], nil
	}
	return nil, fmt.Errorf("reply-to %q is not in the list that was deployed: %w", name, port.ErrNotFound)
}

// Names lists the queues, sorted.
func (s *Set[Q]) Names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]string, 0, len(s.queues))
	for name := range s.queues {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
