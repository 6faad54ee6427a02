package embedded_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

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
		if r := s.Submit(t.Context(), []message.SubmitOrder{o})[0]; r.Err != nil {
			t.Fatal(r)
		}
	}
	send := func(id, reason string, c message.Control) protocol.Verdict {
		t.Helper()
		number := core.CommandOf(c.Event).Number
		c.OrderID = id
		c.Event = core.Stamped(c.Event, c.ID(), core.Sender{By: "ann", Reason: reason}, number)
		v, err := s.Command(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for id := range orders {
		eventually(t, "it is at rest in Error", func() bool { return wait(t, s, id).AtRest() })
		if v := send(id, asked, message.Control{Event: core.Command{Name: core.Erase, ID: "e-1"}}); v.Accepted ||
			!strings.Contains(v.Reason, "in Error") {
			t.Errorf("%s in Error: %+v", id, v)
		}
		if v := send(id, asked, message.Control{Event: core.Command{Name: core.Close, ID: "c-1"}}); !v.Accepted {
			t.Fatal(v)
		}
		eventually(t, "it is at rest", func() bool { return wait(t, s, id).AtRest() })
		if v := send(id, "asked to", message.Control{Event: core.Command{Name: core.Erase, ID: "e-2", Number: 1}}); !v.Accepted {
			t.Fatal(v)
		}
	}
	for range 2 {
		for id, o := range orders {
			task, _, err := s.Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			document, err := state.EncodeTask(task)
			content, failed := s.Order(t.Context(), task)
			if err != nil || failed != nil || len(content) > 0 || bytes.Contains(document, []byte(secret)) ||
				task.ProcessState != core.Closed || task.Erased.By != "ann" {
				t.Errorf("%s: its content is %s, %v; its document %s, %v", id, content, failed, document, err)
			}
			if r := s.Submit(t.Context(), []message.SubmitOrder{o})[0]; r.Err != nil || !r.Known {
				t.Errorf("%s again: %+v", id, r)
			}
			other := o
			other.Order = json.RawMessage(`{}`)
			if r := s.Submit(t.Context(), []message.SubmitOrder{other})[0]; r.Err == nil ||
				!strings.Contains(r.Err.Error(), "other content") {
				t.Errorf("%s with other content: %+v", id, r)
			}
		}
		closeRuntime(t, s)
		s = w.open()
	}
	closeRuntime(t, s)
}
