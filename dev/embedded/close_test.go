package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// broken reads a field of something that the order does not have, so that its first step fails without a
// claim.
var broken = strings.Replace(fixed, "order.n }", "order.amount.value }", 1)

const fixed = `
workflow: pair
agents:
  shop: {queueAllowance: 5s}
steps:
  first:
    agent: shop
    operation: first
    input: {of: "${ order.n }"}
    timeout: 5s
    onFailure: stop
    undo: undo-first
    grade: fenced
`

// An order that is closed by hand has ended: it is reported once, and takes no command any more (P48).
func TestAnOrderIsClosed(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(broken)
	s := w.open()
	submit(t, s, "one", `,"replyTo":"shop"`)
	if task := wait(t, s, "one"); task.ProcessState != core.Error || task.Reason.Code != "expression" {
		t.Fatalf("it is %s, %s", task.ProcessState, task.Reason.Text)
	}
	send := func(c message.Control) protocol.Verdict {
		t.Helper()
		c.OrderID = "one"
		v, err := s.Command(t.Context(), c)
		require.NoError(t, err)
		return v
	}
	closing := message.Control{
		Event: core.Command{Name: core.Close, ID: "c-1", Sender: core.Sender{By: "ann", Reason: "refunded by hand"}},
	}
	require.True(t, send(closing).Accepted)
	for _, c := range []message.Control{
		{Event: core.Command{Name: core.Cancel, ID: "c-2"}},
		{Event: core.Command{Name: core.Resubmit, ID: "c-3", Number: 1}},
		{Event: core.Command{Name: core.UndoCommand, ID: "c-4", Number: 2}},
		{Event: core.Command{Name: core.Resolve, ID: "c-5", Number: 3, Step: "first", Fact: core.Happened}},
		{Event: core.Command{Name: core.Close, ID: "c-6", Number: 4, Sender: core.Sender{By: "bob", Reason: "again"}}},
	} {
		v := send(c)
		require.False(t, v.Accepted, "%s of a closed order: %+v", c.Kind(), v)
		require.Contains(t, v.Reason, "Closed")
	}
	eventually(t, "it is at rest", func() bool { return wait(t, s, "one").AtRest() })
	closeRuntime(t, s)
	s = w.open() // which sends again what was not sent
	defer closeRuntime(t, s)
	task := wait(t, s, "one")
	require.NotNil(t, task.Closing, "it is %+v", task)
	require.Equal(t, core.Closed, task.ProcessState)
	require.Equal(t, protocol.Closing{By: "ann", Reason: "refunded by hand"}, *task.Closing)
	require.Equal(t, "first", task.Reason.Step)
	require.Equal(t, 5, task.Commands.Number)
	reported := map[core.StatusKind]int{}
	for _, status := range taken(t, s, 3) {
		reported[status.Kind]++
		if status.Kind == core.StatusClosed && (status.By != "ann" || status.Reason != "refunded by hand" ||
			status.Step != "first" || len(status.Steps) != 1) {
			t.Errorf("reported %+v", status)
		}
	}
	require.Equal(t, 1, reported[core.StatusReceived])
	require.Equal(t, 1, reported[core.StatusFailed])
	require.Equal(t, 1, reported[core.StatusClosed])
	require.Zero(t, depth(t, s, embedded.Status("shop")).Visible)
	require.True(t, send(closing).Accepted, "the same command again")
}

// taken takes n statuses out of the application's queue.
func taken(t *testing.T, s *embedded.Runtime, n int) (all []*message.Status) {
	t.Helper()
	q, err := s.Queue(embedded.Status("shop"))
	require.NoError(t, err)
	for len(all) < n {
		deliveries, err := q.Receive(t.Context(), 10, patience, time.Minute)
		require.NoError(t, err, n)
		require.NotEmpty(t, deliveries, n)
		for _, d := range deliveries {
			status, err := message.Of[message.Status](d)
			require.NoError(t, err)
			all = append(all, status)
		}
	}
	return all
}
