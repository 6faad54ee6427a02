package cli

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

func TestCommandsAreSentWithTheirNumber(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	for _, x := range []struct {
		args []string
		want message.Control
	}{
		{[]string{"resubmit", "stopped"}, message.Control{Kind: message.Resubmit, OrderID: "stopped", Command: 4}},
		{[]string{"resubmit", "stopped", "--deadline", "2h"}, message.Control{Kind: message.Resubmit, OrderID: "stopped", Command: 4, Deadline: core.TimeOf(noon.Add(time.Minute + 2*time.Hour))}},
		{[]string{"resubmit", "stopped", "--deadline", "2026-03-02T00:00:00Z"}, message.Control{Kind: message.Resubmit, OrderID: "stopped", Command: 4, Deadline: core.TimeOf(noon.Add(12 * time.Hour))}},
		{[]string{"undo", "stopped"}, message.Control{Kind: message.Undo, OrderID: "stopped", Command: 4}},
		{[]string{"cancel", "running"}, message.Control{Kind: message.Cancel, OrderID: "running"}},
		{[]string{"resolve", "stopped", "zone", "not-happened"}, message.Control{Kind: message.Resolve, OrderID: "stopped", Command: 4, Step: "zone", Fact: core.NotHappened}},
	} {
		b.commands = nil
		c.run(t, x.args...).want(t, failure.OK, x.want.OrderID+": "+x.args[0]+" accepted\n")
		if len(b.commands) != 1 {
			t.Fatalf("%v sent %d commands", x.args, len(b.commands))
		}
		got := b.commands[0]
		if got.ID == "" {
			t.Errorf("%v: the command has no ID (P5)", x.args)
		}
		got.ID, got.Schema = "", 0
		if got != x.want {
			t.Errorf("%v sent %+v, want %+v", x.args, got, x.want)
		}
	}
}

// Each kind is sent under the ID that is asked for.
func TestCommandsAreSentUnderTheirID(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	for i, args := range [][]string{{"resubmit", "stopped"}, {"undo", "stopped"}, {"cancel", "running"}, {"cancel", "none", "--unknown"}, {"resolve", "stopped", "zone", "happened"}} {
		c.run(t, append(args, "--command-id", "mine")...).want(t, failure.OK)
		if len(b.commands) != i+1 || b.commands[i].ID != "mine" {
			t.Errorf("%v: %+v", args, b.commands)
		}
	}
}

func TestCommandsRefused(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	c.run(t, "undo", "stopped", "--command", "3").want(t, failure.Refused, "stopped: undo refused: the command number is another one now")
	c.run(t, "resubmit", "nobody").want(t, failure.NotFound, "nobody: resubmit refused", "there is no order nobody")
	c.run(t, "resolve", "stopped", "zoen", "happened").want(t, failure.NotFound, "has no step", "its steps are zone")
	b.refuse = "it is past its point of no return"
	r := c.run(t, "cancel", "stopped", "nobody", "running", "--output", "json")
	r.want(t, failure.Refused)
	golden(t, "cancel.jsonl", r.out)
	call{}.run(t, "undo", "stopped").want(t, failure.Unreachable)
}

func TestCancelBeforeTheOrder(t *testing.T) {
	b := newBackend(noon)
	c := call{server: serve(t, b).URL}
	c.run(t, "cancel", "tpyo").want(t, failure.NotFound, "add --unknown")
	if len(b.commands) != 0 {
		t.Error("a slip of the finger must not leave a tombstone (P17)")
	}
	c.run(t, "cancel", "early", "--unknown").want(t, failure.OK, "early: cancel accepted")
}

func TestUndoAsks(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL, terminal: true, in: "n\n"}
	c.run(t, "undo", "stopped").want(t, failure.General, "Give up stopped", "nothing was undone")
	c.run(t, "undo", "stopped", "running").want(t, failure.General, "2 orders (stopped, …)")
	if len(b.commands) != 0 {
		t.Error("no was taken for yes")
	}
	c.in = "yes\n"
	c.run(t, "undo", "stopped").want(t, failure.OK, "accepted")
	c.in = ""
	c.run(t, "undo", "stopped", "--yes").want(t, failure.OK, "accepted")
	c.terminal = false
	if r := c.run(t, "undo", "stopped"); r.code != failure.OK || r.err != "" {
		t.Errorf("a script is not asked: %+v", r)
	}
}
