package embedded_test

import (
	"strings"
	"testing"

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
	if task := wait(t, s, "one"); task.ProcessState != core.Error {
		t.Fatalf("it is %s", task.ProcessState)
	}
	eventually(t, "it was reported", func() bool { return wait(t, s, "one").AtRest() })
	n := 0
	send := func(c message.Control) protocol.Verdict {
		t.Helper()
		n++
		c.OrderID = "one"
		c.Event = core.Stamped(c.Event, "c-"+string(rune('a'+n)), core.Sender{},
			wait(t, s, "one").Commands.Number)
		v, err := s.Command(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	w.write(fixed)
	until(t, s, func(i view.WorkflowInfo) bool { return i.Hash != first.Hash })
	if v := send(message.Control{Event: core.Command{Name: core.Resubmit}}); !v.Accepted {
		t.Fatal(v.Reason)
	}
	eventually(t, "it fails as before", func() bool {
		task := wait(t, s, "one")
		return task.Commands.Number == 1 && task.AtRest() && task.ProcessState == core.Error &&
			task.Definition == first.Hash
	})
	if v := send(message.Control{Event: core.Command{Name: core.Resubmit, Definition: strings.Repeat("0", 32)}}); v.Accepted ||
		!strings.Contains(v.Reason, "no definition with the hash") {
		t.Errorf("an unknown hash: %+v", v)
	}
	if v := send(message.Control{Event: core.Command{Name: core.Resubmit, Definition: message.Latest}}); !v.Accepted ||
		v.Command != "resubmit" {
		t.Fatalf("%+v", v)
	}
	eventually(t, "it is Processed", func() bool { return wait(t, s, "one").ProcessState == core.Processed })
	if task := wait(t, s, "one"); task.Definition == first.Hash || task.Commands.Number != 2 {
		t.Errorf("it ran %s, command %d", task.Definition, task.Commands.Number)
	}
}
