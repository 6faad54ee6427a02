package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

var someHash = strings.Repeat("0123456789abcdef", 2)

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
		{[]string{"undo", "stopped", "--by", "eve", "--reason", "asked to"}, message.Control{Kind: message.Undo, OrderID: "stopped", Command: 4, By: "eve", Reason: "asked to"}},
		{[]string{"close", "stopped", "--reason", "refunded", "--by", "ann"}, message.Control{Kind: message.Close, OrderID: "stopped", Command: 4, By: "ann", Reason: "refunded"}},
		{[]string{"move", "stopped", "--definition", "latest"}, message.Control{Kind: message.Move, OrderID: "stopped", Command: 4, Definition: "latest"}},
		{[]string{"resubmit", "stopped", "--definition", someHash}, message.Control{Kind: message.Resubmit, OrderID: "stopped", Command: 4, Definition: someHash}},
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
		if x.want.By == "" { // the user of this computer
			if got.By == "" {
				t.Errorf("%v: it does not say who sends it", x.args)
			}
			got.By = ""
		}
		if !reflect.DeepEqual(got, x.want) {
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
	c.run(t, "resubmit", "missing").want(t, failure.NotFound, "missing: resubmit refused", "there is no order missing")
	c.run(t, "resolve", "stopped", "zoen", "happened").want(t, failure.NotFound, "has no step", "its steps are zone")
	b.refuse = "it is past its point of no return"
	r := c.run(t, "cancel", "stopped", "missing", "running", "--output", "json")
	r.want(t, failure.Refused)
	golden(t, "cancel.jsonl", r.out)
	call{}.run(t, "undo", "stopped").want(t, failure.Unreachable)
	b.commands = nil
	c.run(t, "close", "stopped").want(t, failure.Usage, "add --reason TEXT")
	c.run(t, "move", "stopped").want(t, failure.Usage, "the definition to move to is missing", "give --definition latest")
	c.run(t, "resubmit", "stopped", "--definition", "newest").want(t, failure.Usage, "\"newest\" is no definition")
	c.run(t, "close", "stopped", "--reason", strings.Repeat("x", 513)).want(t, failure.Usage, "at most 512 bytes")
	c.run(t, "close", "stopped", "--reason", "why", "--by", strings.Repeat("x", 129)).want(t, failure.Usage, "at most 128 bytes")
	if len(b.commands) > 0 {
		t.Errorf("sent: %+v", b.commands)
	}
	c.run(t, "close", "stopped", "--reason", "why") // by the user of this computer
	if len(b.commands) != 1 || b.commands[0].By == "" {
		t.Errorf("sent: %+v", b.commands)
	}
}

// Several reasons: the worst one decides, in whatever order they come.
func TestWorstExitCode(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	b.refuse = "it is past its point of no return"
	c := call{server: serve(t, b).URL}
	c.run(t, "cancel", "missing").want(t, failure.NotFound)
	c.run(t, "cancel", "missing", "stopped").want(t, failure.Refused)
	c.run(t, "cancel", "stopped", "missing").want(t, failure.Refused)
	end := `{"schema":1,"orderId":"w-1","workflow":"order","order":{"end":"Error"}}`
	other := `{"schema":1,"orderId":"w-2","workflow":"unknown","order":{}}`
	for _, x := range []struct {
		lines string
		want  failure.Code
	}{{end, failure.NotProcessed}, {end + "\n" + other, failure.Refused}, {other + "\n" + end, failure.Refused}, {end + "\n" + other + "\nnonsense", failure.Usage}} {
		c.in = x.lines
		c.run(t, "submit", "--wait", "-").want(t, x.want)
	}
}

// resubmit of what a filter selects: a dry run tells and sends nothing.
func TestResubmitByFilter(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	at := core.TimeOf(noon)
	b.put(&core.Task{OrderID: "other", Workflow: "order", ProcessState: core.Error, Phase: core.Forward, Created: at.Add(30 * core.Second),
		EndCode: "http-422", EndText: "declined", EndStep: "charge", Ended: at.Add(31 * core.Second),
		Steps: []core.Step{{Name: "charge", State: core.Failed, Attempt: 1, First: 1, FirstAt: at, ClaimedAt: at}}})
	c := call{server: serve(t, b).URL}
	for _, x := range []struct {
		args string
		want []string // IDs
	}{
		{"--state error", []string{"stopped", "other"}},
		{"--state Error --step zone", []string{"stopped"}},
		{"--state Error --workflow order", []string{"other"}},
		{"--state Error --workflow order --step zone", nil},
		{"--state Compensated", nil},
	} {
		for _, dry := range []bool{true, false} {
			b.commands = nil
			args := append([]string{"resubmit", "--output", "json"}, strings.Fields(x.args)...)
			if dry {
				args = append(args, "--dry-run")
			}
			r := c.run(t, args...)
			r.want(t, failure.OK)
			var told []string
			for _, d := range decodeLines(t, r.out) {
				told = append(told, d["orderId"].(string))
				if d["accepted"] != true || dry != (d["dryRun"] == true) {
					t.Errorf("%v: %v", args, d)
				}
			}
			sent := []string{}
			for _, k := range b.commands {
				sent = append(sent, k.OrderID)
			}
			if !slices.Equal(told, x.want) || dry && len(sent) > 0 || !dry && !slices.Equal(sent, append([]string{}, x.want...)) {
				t.Errorf("%v: told %q, sent %q, want %q", args, told, sent, x.want)
			}
		}
	}
	b.commands = nil
	c.run(t, "resubmit", "--state", "Error", "--step", "zone", "--dry-run").want(t, failure.OK, "stopped: dry run: resubmit accepted: it would go on with zone")
	c.run(t, "resubmit", "--state", "Error", "--step", "nothing").want(t, failure.OK, "no such orders")
	c.run(t, "resubmit", "processed", "--dry-run").want(t, failure.Refused, "dry run: resubmit refused")
	for args, want := range map[string]string{
		"": "needs the ID of an order", "--dry-run": "or a filter", "--step zone": "add --state Error", "--state Processing": "cannot be resubmitted",
		"stopped --state Error": "given together", "--state Error --command 3": "--command belongs to one order",
	} {
		c.run(t, append([]string{"resubmit"}, strings.Fields(args)...)...).want(t, failure.Usage, want)
	}
	if len(b.commands) > 0 {
		t.Errorf("sent: %+v", b.commands)
	}
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
