// Package queueset finds the queues of an adapter by name. It also records which queues an order may name as
// its reply-to.
package queueset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Set implements port.Queues. The zero value is empty. Call Add and AllowReplyTo only before the concurrent
// use of a Set.
type Set[Q port.Queue] struct {
	queues  map[string]Q
	replyTo map[string]bool
}

// Add adds a queue. It returns an error if the name is empty or in use, or if the retention is negative.
func (s *Set[Q]) Add(name string, retention time.Duration, queue Q) error {
	switch _, there := s.queues[name]; {
	case name == "":
		return fmt.Errorf("a queue without a name")
	case there:
		return fmt.Errorf("queue %q is configured twice", name)
	case retention < 0:
		return fmt.Errorf("queue %q: its retention must not be negative", name)
	}
	if s.queues == nil {
		s.queues = map[string]Q{}
		s.replyTo = map[string]bool{}
	}
	s.queues[name] = queue
	return nil
}

// AllowReplyTo permits orders to name these queues as their reply-to. It returns ErrNotFound if a queue does
// not exist.
func (s *Set[Q]) AllowReplyTo(names ...string) error {
	for _, name := range names {
		if _, there := s.queues[name]; !there {
			return fmt.Errorf("reply-to %q, there is no queue of that name: %w", name, port.ErrNotFound)
		}
		s.replyTo[name] = true
	}
	return nil
}

// Queue returns the queue with this name, or ErrNotFound.
func (s *Set[Q]) Queue(name string) (port.Queue, error) {
	if found, there := s.queues[name]; there {
		return found, nil
	}
	return nil, fmt.Errorf("queue %q: %w", name, port.ErrNotFound)
}

// ReplyTo returns the queue with this name. It returns ErrNotFound if AllowReplyTo has not permitted the
// name.
func (s *Set[Q]) ReplyTo(name string) (port.Sender, error) {
	if s.replyTo[name] {
		return s.queues[name], nil
	}
	return nil, fmt.Errorf("reply-to %q is not in the list that was deployed: %w", name, port.ErrNotFound)
}

// QueueNames returns the sorted names of the queues.
func (s *Set[Q]) QueueNames() []string { return slices.Sorted(maps.Keys(s.queues)) }

// Receipt returns the texts that name a message and one delivery of it. The ID is the first part of the receipt, so
// that both need only one allocation.
func Receipt(number int64, received int) (id, receipt string) {
	var space [32]byte
	text := strconv.AppendInt(space[:0], number, 36)
	end := len(text)
	receipt = string(strconv.AppendInt(append(text, '.'), int64(received), 36))
	return receipt[:end], receipt
}

// ParseReceipt returns the arguments of Receipt. The result ok is false for a text that Receipt cannot have returned.
func ParseReceipt(receipt string) (number int64, received int, ok bool) {
	id, count, _ := strings.Cut(receipt, ".")
	number, err1 := strconv.ParseInt(id, 36, 64)
	n, err2 := strconv.ParseInt(count, 36, 32)
	return number, int(n), err1 == nil && err2 == nil
}

// BadReceipt returns an error that wraps ErrReceipt.
func BadReceipt(queue port.Sender, receipt string) error {
	return fmt.Errorf("queue %q, receipt %.60q: %w", queue.Name(), receipt, port.ErrReceipt)
}

// CheckExtension returns an error if the duration of an extension is out of its bounds.
func CheckExtension(queue port.Sender, x port.Extension) error {
	if x.For < 0 || x.For > port.MaxVisibility {
		return fmt.Errorf("queue %q: a visibility timeout of %s is not within 0 and %s", queue.Name(), x.For,
			port.MaxVisibility)
	}
	return nil
}
