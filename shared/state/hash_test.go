package state_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// The hash of a task's content is that of its submission, wherever its order stands.
func TestHashOfATask(t *testing.T) {
	o := message.SubmitOrder{
		OrderID: "x", Workflow: "order", Order: json.RawMessage(`{"a": 1.0}`),
		Priority: "high", ReplyTo: "shop",
	}
	task := protocol.Task{Workflow: o.Workflow, Order: o.Order, Priority: o.Priority, ReplyTo: o.ReplyTo}
	require.Equal(t, message.ContentHash(o), state.HashOf(&task), "its order stands in the task")
	require.Equal(t, "h", state.HashOf(&protocol.Task{ContentHash: "h"}), "its order is kept apart")
	require.Empty(t, state.HashOf(&protocol.Task{}), "it was cancelled before its order came")
}
