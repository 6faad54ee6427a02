package port

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// CheckWrite returns an error for an invalid write. It does not read the stored records. The error wraps
// ErrTooLarge if the document or the order is too large. Any other error shows a mistake of the caller, and
// wraps no error of this package. Every Store calls CheckWrite first.
func CheckWrite(w *Write) error {
	id := w.Record.ID
	switch {
	case id == "":
		return fmt.Errorf("a write without a task ID")
	case w.Expected < 0 || w.Record.Version != w.Expected+1:
		return fmt.Errorf("task %q: version %d does not follow the expected version %d", id, w.Record.Version,
			w.Expected)
	case w.Content != nil && w.Expected != 0:
		return fmt.Errorf("task %q: an order's content never changes, leave it out when replacing the record",
			id)
	case w.Expected == 0 && w.Apart != (len(w.Content) > 0) || w.Apart && w.Hash == "":
		return fmt.Errorf("task %q: content that is kept apart needs its hash, and a create needs its bytes",
			id)
	case len(w.Record.Document) > MaxDocument:
		return fmt.Errorf("task %q: its document has %d bytes, the limit is %d: %w", id,
			len(w.Record.Document), MaxDocument, ErrTooLarge)
	case len(w.Content) > MaxOrder:
		return fmt.Errorf("order %q has %d bytes, the limit is %d: %w", id, len(w.Content), MaxOrder,
			ErrTooLarge)
	}
	return nil
}

// CheckDefinition returns an error if the bytes do not match the hash. PutDefinition calls CheckDefinition
// first, because a stored definition with wrong bytes can never be read.
func CheckDefinition(hash string, data []byte) error {
	if of := core.DefinitionHash(data); of != hash {
		return fmt.Errorf(
			"definition %q: the %d bytes are not those that it was compiled to, their hash is %q; deploy "+
				"the workflow again: %w", hash, len(data), of, ErrHash)
	}
	return nil
}

// CheckMessage returns an error for a message that no queue may accept. The error wraps ErrTooLarge if the
// body is larger than MaxBody. Any other error shows a mistake of the caller, and wraps no error of this
// package.
func CheckMessage(m *Message) error {
	switch {
	case len(m.Body) == 0 && m.Value == nil:
		return fmt.Errorf("a message without a body")
	case len(m.Body) > MaxBody:
		return fmt.Errorf("a message of %d bytes, the limit is %d: %w", len(m.Body), MaxBody, ErrTooLarge)
	case m.Delay < 0 || m.Delay > MaxDelay:
		return fmt.Errorf("a delay of %s is not within 0 and %s", m.Delay, MaxDelay)
	}
	return nil
}

// CheckReceive returns an error if an argument of Queue.Receive is out of its bounds.
func CheckReceive(max int, wait, visibility time.Duration) error {
	switch {
	case max < 1:
		return fmt.Errorf("receiving %d messages: ask for at least 1", max)
	case wait < 0:
		return fmt.Errorf("a wait of %s is negative", wait)
	case visibility < 0 || visibility > MaxVisibility:
		return fmt.Errorf("a visibility timeout of %s is not within 0 and %s", visibility, MaxVisibility)
	}
	return nil
}

// ShardOf returns the number of a task's shard in the index, from 0 to shards-1. The number is the 32-bit
// FNV-1a hash of the task's ID, modulo shards. Every adapter must use ShardOf, because a lease on a shard
// must cover the same tasks with every adapter.
func ShardOf(id string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum32() % uint32(shards))
}
