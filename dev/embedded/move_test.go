package embedded_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// A workflow's bug stops an order; once the file is fixed, the order goes on with it (P49).
func TestAnOrderIsMovedToTheFixedWorkflow(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(broken)
	s := w.open()
	defer closeRuntime(t, s)
	first := s.Workflows(t.Context())[0]
	submit(t, s, "one", "")
	require.Equal(t, core.Error, wait(t, s, "one").ProcessState)
	eventually(t, "it was reported", func() bool { return wait(t, s, "one").AtRest() })
	n := 0
	send := func(c message.Control) protocol.Verdict {
		t.Helper()
		n++
		c.OrderID = "one"
		c.Event = core.Stamped(c.Event, "c-"+string(rune('a'+n)), core.Sender{},
			wait(t, s, "one").Commands.Number)
		v, err := s.Command(t.Context(), c)
		require.NoError(t, err)
		return v
	}
	w.write(fixed)
	until(t, s, func(i view.WorkflowInfo) bool { return i.Hash != first.Hash })
	require.True(t, send(message.Control{Event: core.Command{Name: core.Resubmit}}).Accepted)
	eventually(t, "it fails as before", func() bool {
		task := wait(t, s, "one")
		return task.Commands.Number == 1 && task.AtRest() && task.ProcessState == core.Error &&
			task.Definition == first.Hash
	})
	v := send(message.Control{Event: core.Command{Name: core.Resubmit, Definition: strings.Repeat("0", 32)}})
	require.False(t, v.Accepted, "an unknown hash: %+v", v)
	require.Contains(t, v.Reason, "no definition with the hash")
	v = send(message.Control{Event: core.Command{Name: core.Resubmit, Definition: message.Latest}})
	require.True(t, v.Accepted, "%+v", v)
	require.Equal(t, "resubmit", v.Command)
	eventually(t, "it is Processed", func() bool { return wait(t, s, "one").ProcessState == core.Processed })
	task := wait(t, s, "one")
	require.NotEqual(t, first.Hash, task.Definition)
	require.Equal(t, 3, task.Commands.Number)
}
