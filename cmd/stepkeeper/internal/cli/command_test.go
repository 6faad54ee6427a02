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
)

var someHash = strings.Repeat("0123456789abcdef", 2)

func TestCommandsAreSentWithTheirNumber(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL, in: "\ufeff[1.50]\n"} // with the mark of some editors
	at := core.TimeOf(noon.Add(time.Minute))                 // when the command is given
	stated := core.Sender{By: "ann", Reason: "why"}
	input := json.RawMessage(`{"name":"north"}`)
	for line, want := range map[string]core.Command{
		"resubmit stopped":                                  {Name: core.Resubmit},
		"resubmit stopped --deadline 2d":                    {Name: core.Resubmit, Deadline: at.Add(48 * core.Hour)},
		"resubmit stopped --deadline 2026-03-02T00:00:00Z":  {Name: core.Resubmit, Deadline: core.TimeOf(noon).Add(12 * core.Hour)},
		"resubmit stopped --definition " + someHash:         {Name: core.Resubmit, Definition: someHash},
		"resubmit stopped --input zone=testdata/input.json": {Name: core.Resubmit, Step: "zone", Input: input},
		"resubmit stopped --input zone=-":                   {Name: core.Resubmit, Step: "zone", Input: []byte("[1.50]")},
		"undo stopped --yes --by ann --reason why":          {Name: core.UndoCommand, Sender: stated},
		"close stopped --yes --by ann --reason why":         {Name: core.Close, Sender: stated},
		"erase stopped --yes --by ann --reason why":         {Name: core.Erase, Sender: stated},
		"move stopped --definition latest":                  {Name: core.Move, Definition: "latest"},
		"cancel running":                                    {Name: core.Cancel},
		"cancel none --unknown":                             {Name: core.Cancel},
		"resolve stopped zone not-happened":                 {Name: core.Resolve, Step: "zone", Fact: core.NotHappened},
		"resolve stopped zone happened --step-output testdata/input.json": {
			Name: core.Resolve, Step: "zone", Fact: core.Happened, Output: input,
		},
	} {
		b.Commands = nil
		args := strings.Fields(line)
		c.run(t, append(args, "--command-id", "mine")...).want(t, failure.OK, args[1]+": "+args[0]+" accepted\n")
		require.Len(t, b.Commands, 1, line)
		got := b.Commands[0]
		require.Equal(t, args[1], got.OrderID)
		require.Equal(t, "mine", got.ID(), line)
		sent := got.Event.(core.Command)
		if want.By == "" { // the user of this computer
			require.NotEmpty(t, sent.By, line)
			sent.By = ""
		}
		if want.Name != core.Cancel {
			want.Number = 4
		}
		want.ID = "mine"
		require.Equal(t, want, sent, line)
	}
	b.Commands = nil
	c.run(t, "resubmit", "stopped").want(t, failure.OK)
	require.NotEmpty(t, b.Commands[0].ID(), "without the flag each command has an ID of its own")
}

// What the server refuses is reported with its reason. The worst reason decides the exit code, in any order.
func TestCommandsRefused(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	c.run(t, "undo", "stopped", "--yes", "--command", "3").want(t, failure.Refused,
		"stopped: undo refused: the command number is another one now")
	c.run(t, "undo", "stopped", "--dry-run", "--command", "3").want(t, failure.Refused,
		"stopped: dry run: undo refused: its command number is 4 by now")
	b.refuse = "it is past its point of no return"
	r := c.run(t, "cancel", "stopped", "missing", "running", "--output", "json")
	r.want(t, failure.Refused)
	golden.Assert(t, r.out, "cancel.jsonl")
	c.run(t, "cancel", "missing").want(t, failure.NotFound)
	c.run(t, "cancel", "missing", "stopped").want(t, failure.Refused)
}

// What is wrong in itself is not sent. TestRefusedCallsSayWhatToDo has the calls that need no input.
func TestCommandsThatAreNotSent(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	server := serve(t, b).URL
	const input = "resubmit stopped --input zone=-"
	const output = "resolve stopped zone happened --step-output -"
	for name, x := range map[string]struct{ args, in, says string }{
		"a long reason":                 {"close stopped --reason " + strings.Repeat("x", 513), "", "1 to 512 bytes"},
		"a long name":                   {"close stopped --reason why --by " + strings.Repeat("x", 129), "", "1 to 128 bytes"},
		"a long name of who erases":     {"erase stopped --reason why --by " + strings.Repeat("x", 129), "", "1 to 128 bytes"},
		"a name that reverses text":     {"cancel stopped --by no\u202e", "", "control character"},
		"a reason that clears a screen": {"cancel stopped --reason \x1b[2J", "", "control character"},
		"a number below zero":           {"undo stopped --yes --command -1", "", "--command -1 is out of range"},
		"a null input":                  {input, "null", "input is null"},
		"a name twice in an input":      {input, `{"a":1,"a":2}`, "twice"},
		"a large input":                 {input, `"` + strings.Repeat("x", 32<<10) + `"`, "larger than 32768"},
		"a null output":                 {output, "null", "output is null"},
		"a large output":                {output, `"` + strings.Repeat("x", core.MaxOutput) + `"`, "larger than 49152"},
		"an output of what was undone":  {"resolve stopped zone undone --step-output -", "{}", "output belongs to a step that happened"},
	} {
		t.Run(name, func(t *testing.T) {
			call{server: server, in: x.in}.run(t, strings.Fields(x.args)...).want(t, failure.Usage, x.says)
			require.Empty(t, b.Commands)
		})
	}
}

func TestWorstExitCodeOfSubmit(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	end := orderLine("w-1", "Error")
	other := `{"schema":1,"orderId":"w-2","workflow":"unknown","order":{}}` + "\n"
	for lines, want := range map[string]failure.Code{
		end: failure.NotProcessed, end + other: failure.Refused, other + end: failure.Refused,
		end + other + "nonsense": failure.Usage,
	} {
		c.in = lines
		c.run(t, "submit", "--wait", "-").want(t, want)
	}
}

// A command whose effect cannot be reverted asks. Without a terminal nobody can answer: then it needs --yes.
func TestCommandsThatAsk(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	for _, line := range []string{
		"undo stopped", "close stopped --reason why", "erase stopped --reason why",
		"undo --where state=Error --reason why", "resubmit --where state=Error --reason why",
		"cancel --where state=Error --reason why", "resolve zone happened --where state=Error --reason why",
		"move --where state=Error --definition latest --reason why", "close --where state=Error --reason why",
		"dead-letters redrive replies --all --reason why", "dead-letters discard replies x --reason why",
	} {
		args := strings.Fields(line)
		c.terminal = false
		c.in = "yes\n"
		c.run(t, args...).want(t, failure.Usage, "add --yes: without a terminal nobody can confirm")
		c.terminal = true
		c.in = "n\n"
		c.run(t, args...).want(t, failure.General, "[y/N]", "answer y, or give --yes")
		require.Empty(t, b.Commands, "%v", args)
	}
	c.run(t, "undo", "stopped").want(t, failure.General, "Give up stopped", "nothing was undone")
	c.run(t, "close", "--where", "state=Error", "--reason", "fixed").want(t, failure.General,
		"it would end as it stands: stopped", "Send close to 1 order?", "selected: 1 order, and nothing was sent")
	c.run(t, "undo", "stopped", "running").want(t, failure.General, "2 orders (stopped, …)")
	require.Empty(t, b.Commands, "no was taken for yes")
	c.in = "yes\n"
	c.run(t, "undo", "stopped").want(t, failure.OK, "accepted")
	c.terminal = false
	c.in = ""
	r := c.run(t, "undo", "stopped", "--yes")
	require.Equal(t, failure.OK, r.code, "with --yes a script is not asked")
	require.Empty(t, r.err)
}

// typed is a terminal: a read after the end of the input waits for more.
type typed []string

func (k *typed) Read(p []byte) (int, error) {
	text := (*k)[0]
	*k = (*k)[1:]
	if text == "" {
		return 0, io.EOF
	}
	return copy(p, text), nil
}

// One Ctrl-D ends the input, wherever it stands.
func TestOneEndOfTheInputIsEnough(t *testing.T) {
	s, b := streams.Test(true)
	s.In = &typed{"{\n", ""}
	a := app.New(s, func(string) string { return serve(t, newBackend(noon)).URL })
	require.Equal(t, failure.Usage, a.Execute(t.Context(), Root(a), []string{"submit", "-"}))
	require.Contains(t, b.Err.String(), "it ends in the middle of a value")
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
