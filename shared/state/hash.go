package state

import (
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// HashOf returns the hash of a task's submission. If the task contains the order, HashOf computes the hash.
// Otherwise it returns the stored hash. The hash is "" if a Cancel arrived without a submission (P17, a
// cancel is kept).
func HashOf(t *protocol.Task) string {
	if len(t.Order) == 0 {
		return t.ContentHash
	}
	return message.ContentHash(message.SubmitOrder{
		Workflow: t.Workflow, Order: t.Order, Priority: t.Priority,
		ReplyTo: t.ReplyTo,
	})
}
