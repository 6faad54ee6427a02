package embedded_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// An operator erases an order that has ended: its content is gone, also after a restart, and the same order
// is still recognised (P52).
func TestAnOrderIsErased(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(broken)
	s := w.open()
	const secret = "anna@example.com"
	const asked = "asked to by " + secret
	orders := map[string]message.SubmitOrder{}
	for id, padding := range map[string]int{"inline": 0, "apart": 2 << 10} {
		o := order(t, id, "")
		o.Order = json.RawMessage(`{"customer":"` + secret + `"` + strings.Repeat(" ", padding) + `}`)
		orders[id] = o
		require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
	}
	send := func(id, reason string, c message.Control) protocol.Verdict {
		t.Helper()
		number := core.CommandOf(c.Event).Number
		c.OrderID = id
		c.Event = core.Stamped(c.Event, c.ID(), core.Sender{By: "ann", Reason: reason}, number)
		v, err := s.Command(t.Context(), c)
		require.NoError(t, err)
		return v
	}
	for id := range orders {
		eventually(t, "it is at rest in Error", func() bool { return wait(t, s, id).AtRest() })
		v := send(id, asked, message.Control{Event: core.Command{Name: core.Erase, ID: "e-1"}})
		require.False(t, v.Accepted, id)
		require.Contains(t, v.Reason, "in Error", id)
		v = send(id, asked, message.Control{Event: core.Command{Name: core.Close, ID: "c-1", Number: 1}})
		require.True(t, v.Accepted)
		eventually(t, "it is at rest", func() bool { return wait(t, s, id).AtRest() })
		v = send(id, "asked to", message.Control{Event: core.Command{Name: core.Erase, ID: "e-2", Number: 2}})
		require.True(t, v.Accepted)
	}
	for range 2 {
		for id, o := range orders {
			task, _, err := s.Task(t.Context(), id)
			require.NoError(t, err)
			document, err := state.EncodeTask(task)
			content, failed := s.Order(t.Context(), task)
			if err != nil || failed != nil || len(content) > 0 || bytes.Contains(document, []byte(secret)) ||
				task.ProcessState != core.Closed || task.Erased.By != "ann" {
				t.Errorf("%s: its content is %s, %v; its document %s, %v", id, content, failed, document, err)
			}
			r := s.Submit(t.Context(), []message.SubmitOrder{o})[0]
			require.NoError(t, r.Err, id)
			require.True(t, r.Known, id)
			other := o
			other.Order = json.RawMessage(`{}`)
			require.ErrorContains(t, s.Submit(t.Context(), []message.SubmitOrder{other})[0].Err, "other content", id)
		}
		closeRuntime(t, s)
		s = w.open()
	}
	closeRuntime(t, s)
}
