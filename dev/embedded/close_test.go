package embedded_test

import (
	"strings"
	"testing"
	"time"

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
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	closing := message.Control{
		Event: core.Command{Name: core.Close, ID: "c-1", Sender: core.Sender{By: "ann", Reason: "refunded by hand"}},
	}
	if v := send(closing); !v.Accepted {
		t.Fatal(v.Reason)
	}
	for _, c := range []message.Control{
		{Event: core.Command{Name: core.Cancel, ID: "c-2"}},
		{Event: core.Command{Name: core.Resubmit, ID: "c-3", Number: 1}},
		{Event: core.Command{Name: core.UndoCommand, ID: "c-4", Number: 1}},
		{Event: core.Command{Name: core.Resolve, ID: "c-5", Number: 1, Step: "first", Fact: core.Happened}},
		{Event: core.Command{Name: core.Close, ID: "c-6", Number: 1, Sender: core.Sender{By: "bob", Reason: "again"}}},
	} {
		if v := send(c); v.Accepted || !strings.Contains(v.Reason, "Closed") {
			t.Errorf("%s of a closed order: %+v", c.Kind(), v)
		}
	}
	eventually(t, "it is at rest", func() bool { return wait(t, s, "one").AtRest() })
	closeRuntime(t, s)
	s = w.open() // which sends again what was not sent
	defer closeRuntime(t, s)
	task := wait(t, s, "one")
	if task.Closing == nil {
		t.Fatalf("it is %+v", task)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"task.ProcessState", task.ProcessState, core.Closed},
		{"*task.Closing", *task.Closing, (protocol.Closing{By: "ann", Reason: "refunded by hand"})},
		{"task.EndStep", task.Reason.Step, "first"},
		{"task.Command", task.Commands.Number, 1},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: it is %+v", field.name, field.got, field.want, task)
		}
	}
	reported := map[core.StatusKind]int{}
	for _, status := range taken(t, s, 3) {
		reported[status.Kind]++
		if status.Kind == core.StatusClosed && (status.By != "ann" || status.Reason != "refunded by hand" ||
			status.Step != "first" || len(status.Steps) != 1) {
			t.Errorf("reported %+v", status)
		}
	}
	if reported[core.StatusReceived] != 1 || reported[core.StatusFailed] != 1 ||
		reported[core.StatusClosed] != 1 || depth(t, s, embedded.Status("shop")).Visible != 0 {
		t.Errorf("reported %v, left %+v", reported, depth(t, s, embedded.Status("shop")))
	}
	if v := send(closing); !v.Accepted {
		t.Errorf("the same command again: %+v", v)
	}
}

// taken takes n statuses out of the application's queue.
func taken(t *testing.T, s *embedded.Runtime, n int) (all []*message.Status) {
	t.Helper()
	q, err := s.Queue(embedded.Status("shop"))
	if err != nil {
		t.Fatal(err)
	}
	for len(all) < n {
		deliveries, err := q.Receive(t.Context(), 10, patience, time.Minute)
		if err != nil || len(deliveries) == 0 {
			t.Fatalf("%d of %d statuses came: %v", len(all), n, err)
		}
		for _, d := range deliveries {
			status, err := message.Of[message.Status](d)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, status)
		}
	}
	return all
}
