package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

var someHash = strings.Repeat("0123456789abcdef", 2)

func TestCommandsAreSentWithTheirNumber(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL, in: "[1.50]\n"}
	for _, x := range []struct {
		args []string
		want message.Control
	}{
		{[]string{"resubmit", "stopped"}, message.Control{
			OrderID: "stopped",
			Event:   core.Resubmit{Command: 4},
		}},
		{
			[]string{"resubmit", "stopped", "--deadline", "2d"},
			message.Control{
				OrderID: "stopped",
				Event: core.Resubmit{
					Command:  4,
					Deadline: core.TimeOf(noon.Add(time.Minute + 48*time.Hour)),
				},
			},
		},
		{
			[]string{"resubmit", "stopped", "--deadline", "2h"},
			message.Control{
				OrderID: "stopped",
				Event: core.Resubmit{
					Command:  4,
					Deadline: core.TimeOf(noon.Add(time.Minute + 2*time.Hour)),
				},
			},
		},
		{
			[]string{"resubmit", "stopped", "--deadline", "2026-03-02T00:00:00Z"},
			message.Control{
				OrderID: "stopped",
				Event:   core.Resubmit{Command: 4, Deadline: core.TimeOf(noon.Add(12 * time.Hour))},
			},
		},
		{
			[]string{"undo", "stopped", "--yes", "--by", "eve", "--reason", "asked to"},
			message.Control{
				OrderID: "stopped",
				Event:   core.UndoCommand{Command: 4, Sender: core.Sender{By: "eve", Reason: "asked to"}},
			},
		},
		{
			[]string{"close", "stopped", "--yes", "--reason", "refunded", "--by", "ann"},
			message.Control{
				OrderID: "stopped",
				Event:   core.Close{Command: 4, Sender: core.Sender{By: "ann", Reason: "refunded"}},
			},
		},
		{
			[]string{"erase", "stopped", "--yes", "--reason", "asked to", "--by", "ann"},
			message.Control{
				OrderID: "stopped",
				Event:   core.Erase{Command: 4, Sender: core.Sender{By: "ann", Reason: "asked to"}},
			},
		},
		{
			[]string{"move", "stopped", "--definition", "latest"},
			message.Control{OrderID: "stopped", Event: core.Move{Command: 4, Definition: "latest"}},
		},
		{
			[]string{"resubmit", "stopped", "--definition", someHash},
			message.Control{OrderID: "stopped", Event: core.Resubmit{Command: 4, Definition: someHash}},
		},
		{
			[]string{"resubmit", "stopped", "--input", "zone=testdata/input.json"},
			message.Control{
				OrderID: "stopped",
				Event: core.Resubmit{
					Command: 4, Step: "zone",
					Input: json.RawMessage(`{"name":"north"}`),
				},
			},
		},
		{
			[]string{"resubmit", "stopped", "--input", "zone=-"},
			message.Control{
				OrderID: "stopped",
				Event:   core.Resubmit{Command: 4, Step: "zone", Input: json.RawMessage(`[1.50]`)},
			},
		},
		{[]string{"cancel", "running"}, message.Control{OrderID: "running", Event: core.Cancel{}}},
		{
			[]string{"resolve", "stopped", "zone", "not-happened"},
			message.Control{
				OrderID: "stopped",
				Event:   core.Resolve{Command: 4, Step: "zone", Fact: core.NotHappened},
			},
		},
		{
			[]string{"resolve", "stopped", "zone", "happened", "--step-output", "testdata/input.json"},
			message.Control{
				OrderID: "stopped",
				Event: core.Resolve{
					Command: 4, Step: "zone", Fact: core.Happened,
					Output: json.RawMessage(`{"name":"north"}`),
				},
			},
		},
	} {
		b.commands = nil
		c.run(t, x.args...).want(t, failure.OK, x.want.OrderID+": "+x.args[0]+" accepted\n")
		require.Len(t, b.commands, 1, "%v", x.args)
		got := b.commands[0]
		require.NotEmpty(t, got.ID(), "%v", x.args)
		sent := core.CommandOf(got.Event)
		if core.CommandOf(x.want.Event).From.By == "" { // the user of this computer
			require.NotEmpty(t, sent.From.By, "%v", x.args)
			sent.From.By = ""
		}
		got.Event = core.Stamped(got.Event, "", sent.From, sent.Number)
		require.Equal(t, x.want, got, "%v", x.args)
	}
}

// Each kind of command is sent with the ID of the flag.
func TestCommandsAreSentUnderTheirID(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	for i, args := range [][]string{
		{"resubmit", "stopped"},
		{"undo", "stopped", "--yes"},
		{"cancel", "running"},
		{"cancel", "none", "--unknown"},
		{"resolve", "stopped", "zone", "happened"},
	} {
		c.run(t, append(args, "--command-id", "mine")...).want(t, failure.OK)
		require.Len(t, b.commands, i+1, "%v", args)
		require.Equal(t, "mine", b.commands[i].ID(), "%v", args)
	}
}

// What the server refuses is reported with its reason.
func TestCommandsRefused(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	for _, number := range []string{"3", "0"} {
		c.run(t, "undo", "stopped", "--yes", "--command", number).want(t, failure.Refused,
			"stopped: undo refused: the command number is another one now")
	}
	c.run(t, "resubmit", "missing").want(t, failure.NotFound, "missing: resubmit refused",
		"there is no order missing")
	c.run(t, "resolve", "stopped", "zoen", "happened").want(t, failure.NotFound, "has no step",
		"its steps are zone")
	call{}.run(t, "undo", "stopped", "--yes").want(t, failure.Unreachable)
	b.refuse = "it is past its point of no return"
	r := c.run(t, "cancel", "stopped", "missing", "running", "--output", "json")
	r.want(t, failure.Refused)
	golden.Assert(t, r.out, "cancel.jsonl")
}

// What is wrong in itself is not sent. TestRefusedCallsSayWhatToDo has the calls that need no input.
func TestCommandsThatAreNotSent(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	server := serve(t, b).URL
	const input = "resubmit stopped --input zone=-"
	const output = "resolve stopped zone happened --step-output -"
	for name, x := range map[string]struct {
		args string
		in   string
		code failure.Code
		says []string
	}{
		"an erasure without a reason": {
			"erase stopped", "", failure.Usage,
			[]string{"nothing was erased", "add --reason TEXT"},
		},
		"a long reason": {
			"close stopped --reason " + strings.Repeat("x", 513), "", failure.Usage,
			[]string{"at most 512 bytes"},
		},
		"a long name": {
			"close stopped --reason why --by " + strings.Repeat("x", 129), "", failure.Usage,
			[]string{"at most 128 bytes"},
		},
		"a long name of who erases": {
			"erase stopped --reason why --by " + strings.Repeat("x", 129), "",
			failure.Usage,
			[]string{"at most 128 bytes"},
		},
		"an input of no step": {
			"resubmit stopped --input =x", "", failure.Usage,
			[]string{"names no step and file", "--input STEP=FILE"},
		},
		"an input of an unknown step": {
			"resubmit stopped --input zoen=testdata/input.json", "", failure.NotFound,
			[]string{"has no step", "its steps are zone"},
		},
		"half an input":             {input, "{", failure.Usage, []string{"it is not JSON at byte 1"}},
		"a null input":              {input, "null", failure.Usage, []string{"input is null"}},
		"a name twice in an input":  {input, `{"a":1,"a":2}`, failure.Usage, []string{"twice"}},
		"a file larger than inputs": {input, strings.Repeat("1", 200<<10), failure.Usage, []string{"larger than 32768 bytes"}},
		"a large input": {
			input, `"` + strings.Repeat("x", 32<<10) + `"`, failure.Usage,
			[]string{"larger than 32768"},
		},
		"a deep input": {
			input, strings.Repeat("[", 70) + strings.Repeat("]", 70), failure.Usage,
			[]string{"deeper"},
		},
		"half an output": {output, "{", failure.Usage, []string{"is not JSON"}},
		"a null output":  {output, "null", failure.Usage, []string{"the output of step zone: output is null"}},
		"a large output": {
			output, `"` + strings.Repeat("x", core.MaxOutput) + `"`, failure.Usage,
			[]string{"larger than 49152"},
		},
		"an output of what was undone": {
			"resolve stopped zone undone --step-output -", "{}", failure.Usage,
			[]string{"output belongs to a step that happened"},
		},
		"no file of an output": {
			"resolve stopped zone happened --step-output nosuchfile", "", failure.NotFound,
			[]string{"the output of step zone"},
		},
		"an output in the place of a format": {
			"resolve stopped zone happened --output charged.json", "",
			failure.Usage,
			[]string{"no output format", "--step-output FILE"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			call{server: server, in: x.in}.run(t, strings.Fields(x.args)...).want(t, x.code, x.says...)
			require.Empty(t, b.commands)
		})
	}
}

// Who closes an order without a name is the user of this computer.
func TestCommandsNameTheirSender(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	c.run(t, "close", "stopped", "--yes", "--reason", "why").want(t, failure.OK)
	require.Len(t, b.commands, 1)
	require.NotEmpty(t, b.commands[0].Event.(core.Close).By)
}

// If there are several reasons, the worst one decides the exit code, in any order.
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
	}{{end, failure.NotProcessed}, {end + "\n" + other, failure.Refused}, {other +
		"\n" + end, failure.Refused}, {end + "\n" + other + "\nnonsense", failure.Usage}} {
		c.in = x.lines
		c.run(t, "submit", "--wait", "-").want(t, x.want)
	}
}

func TestCancelBeforeTheOrder(t *testing.T) {
	b := newBackend(noon)
	c := call{server: serve(t, b).URL}
	c.run(t, "cancel", "tpyo").want(t, failure.NotFound, "add --unknown")
	require.Empty(t, b.commands, "a slip of the finger must not leave a tombstone (P17)")
	c.run(t, "cancel", "early", "--unknown").want(t, failure.OK, "early: cancel accepted")
}

// A command whose effect cannot be reverted asks. Without a terminal nobody can answer: then it needs --yes.
func TestCommandsThatAsk(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	for _, args := range [][]string{
		{"undo", "stopped"},
		{"close", "stopped", "--reason", "why"},
		{"erase", "stopped", "--reason", "why"},
		{"undo", "--where", "state=Error", "--reason", "why"},
		{"resubmit", "--where", "state=Error", "--reason", "why"},
		{"cancel", "--where", "state=Error", "--reason", "why"},
		{"resolve", "zone", "happened", "--where", "state=Error", "--reason", "why"},
		{"move", "--where", "state=Error", "--definition", "latest", "--reason", "why"},
		{"close", "--where", "state=Error", "--reason", "why"},
		{"dead-letters", "redrive", "replies", "--all", "--reason", "why"},
		{"dead-letters", "discard", "replies", "x", "--reason", "why"},
	} {
		c.terminal = false
		c.in = "yes\n"
		c.run(t, args...).want(t, failure.Usage, "add --yes: without a terminal nobody can confirm")
		c.terminal = true
		c.in = "n\n"
		c.run(t, args...).want(t, failure.General, "[y/N]", "answer y, or give --yes")
		require.Empty(t, b.commands, "%v", args)
	}
	c.run(t, "undo", "stopped").want(t, failure.General, "Give up stopped", "nothing was undone")
	c.run(t, "undo", "stopped", "running").want(t, failure.General, "2 orders (stopped, …)")
	require.Empty(t, b.commands, "no was taken for yes")
	c.in = "yes\n"
	c.run(t, "undo", "stopped").want(t, failure.OK, "accepted")
	c.terminal = false
	c.in = ""
	r := c.run(t, "undo", "stopped", "--yes")
	require.Equal(t, failure.OK, r.code, "with --yes a script is not asked")
	require.Empty(t, r.err)
}

// One Ctrl-C ends a command that waits for an answer, or for its input.
func TestAnInterruptEndsAQuestion(t *testing.T) {
	for _, args := range [][]string{
		{"undo", "a-1"},
		{"close", "a-1", "--reason", "settled"},
		{"erase", "a-1", "--reason", "asked for"},
		{"resolve", "a-1", "charge", "happened", "--step-output", "-"},
		{"aws", "token-key"},
	} {
		t.Run(args[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := streams.Test(true)
				in, terminal := io.Pipe()
				defer terminal.Close()
				s.In = in
				ctx, interrupt := context.WithCancel(t.Context())
				a := app.New(s, func(string) string { return "" })
				ended := make(chan failure.Code, 1)
				go func() { ended <- a.Execute(ctx, Root(a), args) }()
				synctest.Wait()
				require.Empty(t, ended)
				interrupt()
				synctest.Wait()
				require.Len(t, ended, 1, "it waits still")
				require.NotEqual(t, failure.OK, <-ended)
				require.Contains(t, b.Err.String(), "interrupted")
			})
		})
	}
}
