package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
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
		{[]string{"resubmit", "stopped"}, message.Control{OrderID: "stopped",
			Event: core.Resubmit{Command: 4}}},
		{
			[]string{"resubmit", "stopped", "--deadline", "2d"},
			message.Control{OrderID: "stopped",
				Event: core.Resubmit{Command: 4,
					Deadline: core.TimeOf(noon.Add(time.Minute + 48*time.Hour))}},
		},
		{
			[]string{"resubmit", "stopped", "--deadline", "2h"},
			message.Control{OrderID: "stopped",
				Event: core.Resubmit{Command: 4,
					Deadline: core.TimeOf(noon.Add(time.Minute + 2*time.Hour))}},
		},
		{
			[]string{"resubmit", "stopped", "--deadline", "2026-03-02T00:00:00Z"},
			message.Control{OrderID: "stopped",
				Event: core.Resubmit{Command: 4, Deadline: core.TimeOf(noon.Add(12 * time.Hour))}},
		},
		{
			[]string{"undo", "stopped", "--yes", "--by", "eve", "--reason", "asked to"},
			message.Control{OrderID: "stopped",
				Event: core.UndoCommand{Command: 4, Sender: core.Sender{By: "eve", Reason: "asked to"}}},
		},
		{
			[]string{"close", "stopped", "--yes", "--reason", "refunded", "--by", "ann"},
			message.Control{OrderID: "stopped",
				Event: core.Close{Command: 4, Sender: core.Sender{By: "ann", Reason: "refunded"}}},
		},
		{
			[]string{"erase", "stopped", "--yes", "--reason", "asked to", "--by", "ann"},
			message.Control{OrderID: "stopped",
				Event: core.Erase{Command: 4, Sender: core.Sender{By: "ann", Reason: "asked to"}}},
		},
		{[]string{"move", "stopped", "--definition", "latest"},
			message.Control{OrderID: "stopped", Event: core.Move{Command: 4, Definition: "latest"}}},
		{
			[]string{"resubmit", "stopped", "--definition", someHash},
			message.Control{OrderID: "stopped", Event: core.Resubmit{Command: 4, Definition: someHash}},
		},
		{
			[]string{"resubmit", "stopped", "--input", "zone=testdata/input.json"},
			message.Control{OrderID: "stopped",
				Event: core.Resubmit{Command: 4, Step: "zone",
					Input: json.RawMessage(`{"name":"north"}`)}},
		},
		{
			[]string{"resubmit", "stopped", "--input", "zone=-"},
			message.Control{OrderID: "stopped",
				Event: core.Resubmit{Command: 4, Step: "zone", Input: json.RawMessage(`[1.50]`)}},
		},
		{[]string{"cancel", "running"}, message.Control{OrderID: "running", Event: core.Cancel{}}},
		{
			[]string{"resolve", "stopped", "zone", "not-happened"},
			message.Control{OrderID: "stopped",
				Event: core.Resolve{Command: 4, Step: "zone", Fact: core.NotHappened}},
		},
		{
			[]string{"resolve", "stopped", "zone", "happened", "--step-output", "testdata/input.json"},
			message.Control{OrderID: "stopped",
				Event: core.Resolve{Command: 4, Step: "zone", Fact: core.Happened,
					Output: json.RawMessage(`{"name":"north"}`)}},
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

func TestCommandsRefused(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	c.run(t, "undo", "stopped", "--yes", "--command", "3").want(t, failure.Refused,
		"stopped: undo refused: the command number is another one now")
	c.run(t, "undo", "stopped", "--yes", "--command", "0").want(t, failure.Refused,
		"stopped: undo refused: the command number is another one now")
	c.run(t, "resubmit", "missing").want(t, failure.NotFound, "missing: resubmit refused",
		"there is no order missing")
	c.run(t, "resolve", "stopped", "zoen", "happened").want(t, failure.NotFound, "has no step",
		"its steps are zone")
	b.refuse = "it is past its point of no return"
	r := c.run(t, "cancel", "stopped", "missing", "running", "--output", "json")
	r.want(t, failure.Refused)
	golden.Assert(t, r.out, "cancel.jsonl")
	call{}.run(t, "undo", "stopped", "--yes").want(t, failure.Unreachable)
	b.commands = nil
	c.run(t, "close", "stopped").want(t, failure.Usage, "add --reason TEXT")
	c.run(t, "erase", "stopped").want(t, failure.Usage, "nothing was erased", "add --reason TEXT")
	c.run(t, "move", "stopped").want(t, failure.Usage, "move has no definition",
		"give --definition latest")
	c.run(t, "resubmit", "stopped", "--definition", "newest").want(t, failure.Usage,
		"\"newest\" is not a definition")
	c.run(t, "resubmit", "stopped", "--input", "zone").want(t, failure.Usage, "names no step and file",
		"--input STEP=FILE")
	c.run(t, "resubmit", "stopped", "--input", "=x").want(t, failure.Usage, "names no step and file")
	c.run(t, "resubmit", "stopped", "running", "--input", "zone=-").want(t, failure.Usage,
		"belongs to one order")
	c.run(t, "resubmit", "stopped", "--input", "zone=testdata/none.json").want(t, failure.NotFound,
		"testdata/none.json")
	c.run(t, "resubmit", "stopped", "--input", "zoen=testdata/input.json").want(t, failure.NotFound,
		"has no step", "its steps are zone")
	for in, want := range map[string]string{
		"{":                                     "it is not JSON at byte 1",
		strings.Repeat("1", 200<<10):            "larger than 32768 bytes",
		"null":                                  "input is null",
		`{"a":1,"a":2}`:                         "twice",
		`"` + strings.Repeat("x", 32<<10) + `"`: "larger than 32768",
		strings.Repeat("[", 70) + strings.Repeat("]", 70): "deeper",
	} {
		call{server: c.server, in: in}.run(t, "resubmit", "stopped", "--input", "zone=-").want(t,
			failure.Usage, want)
	}
	for in, want := range map[string]string{
		"{":    "is not JSON",
		"null": "the output of step zone: output is null",
		`"` + strings.Repeat("x", core.MaxOutput) + `"`: "larger than 49152",
	} {
		call{server: c.server, in: in}.run(t, "resolve", "stopped", "zone", "happened", "--step-output",
			"-").want(t, failure.Usage, want)
	}
	call{server: c.server, in: "{}"}.run(t, "resolve", "stopped", "zone", "undone", "--step-output",
		"-").want(
		t, failure.Usage, "output belongs to a step that happened")
	c.run(t, "resolve", "stopped", "zone", "happened", "--step-output", "nosuchfile").want(t,
		failure.NotFound, "the output of step zone")
	c.run(t, "resolve", "stopped", "zone", "happened", "--output", "charged.json").want(t, failure.Usage,
		"no output format", "--step-output FILE")
	c.run(t, "close", "stopped", "--reason", strings.Repeat("x", 513)).want(t, failure.Usage,
		"at most 512 bytes")
	c.run(t, "close", "stopped", "--reason", "why", "--by", strings.Repeat("x", 129)).want(t, failure.Usage,
		"at most 128 bytes")
	require.Empty(t, b.commands)
	c.run(t, "erase", "stopped", "--reason", "why", "--by", strings.Repeat("x", 129)).want(t, failure.Usage,
		"at most 128 bytes")
	c.run(t, "close", "stopped", "--yes", "--reason", "why") // the sender is the user of this computer
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

// A dry run of bulk lists the orders and sends nothing. Sent commands are recorded in a file, from which bulk
// continues.
func TestBulk(t *testing.T) {
	t.Chdir(t.TempDir())
	b := newBackend(noon)
	fill(b)
	at := core.TimeOf(noon)
	b.put(&core.Task{OrderID: "other", Workflow: "order", ProcessState: core.Error, Phase: core.Forward,
		Created: at.Add(30 * core.Second),
		Reason:  core.Reason{Code: "http-422", Text: "declined", Step: "charge"},
		End:     core.End{At: at.Add(31 * core.Second)},
		Steps: []core.Step{{Name: "charge", State: core.Failed, Attempt: 1, First: core.First{Nth: 1, At: at},
			Claim: core.Claim{At: at}}}})
	c := call{server: serve(t, b).URL}
	for where, want := range map[string][]string{
		"state=error": {"stopped", "other"}, "step=zone": {"stopped"}, "workflow=order": {"other"},
		"workflow=order,step=zone": nil,
		"state=processed,older=7d": nil,
		"state=Compensated":        nil, "code=http-422,step=charge": {"other"}, "id=st": {"stopped"},
	} {
		r := c.run(t, "bulk", "resubmit", "--output", "json", "--reason", "fixed", "--dry-run", "--where",
			where)
		r.want(t, failure.OK)
		var reported []string
		for _, d := range decodeLines(t, r.out) {
			reported = append(reported, d["orderId"].(string))
			require.Equal(t, true, d["accepted"], where)
			require.Equal(t, true, d["dryRun"], where)
		}
		require.Equal(t, want, reported, where)
	}
	c.run(t, "bulk", "resubmit", "--where", "step=zone", "--reason", "fixed", "--dry-run").want(t,
		failure.OK, "dry run: 1 order, nothing was sent", "1 it would go on with zone: stopped")
	c.run(t, "bulk", "undo", "--where", "state=processed", "--reason", "wrong", "--dry-run").want(t,
		failure.OK, "refused: only an order in Error takes undo; this one is Processed: processed")
	c.run(t, "bulk", "resubmit", "--where", "workflow=ordre", "--reason", "fixed", "--dry-run").want(t,
		failure.NotFound, `there is no workflow "ordre"`, "did you mean order?")
	c.run(t, "bulk", "resubmit", "--where", "step=nothing", "--reason", "fixed", "--yes").want(t,
		failure.NotFound, "no order matches")
	c.run(t, "bulk", "close", "--where", "state=Error", "--reason", "fixed").want(t, failure.Usage,
		"selected: 2 orders", "it would end as it stands: stopped other", "add --yes")
	require.Empty(t, b.commands)
	asked := call{server: c.server, terminal: true, in: "n\n"}
	asked.run(t, "bulk", "close", "--where", "state=Error", "--reason", "fixed").want(t, failure.General,
		"it would end as it stands: stopped other", "Send close to 2 orders?", "nothing was sent")
	c.run(t, "resubmit", "processed", "--dry-run").want(t, failure.Refused, "dry run: resubmit refused")
	require.Empty(t, b.commands)
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, files)

	c.run(t, "bulk", "close", "--where", "state=Error", "--by", "ann", "--reason", "settled", "--file",
		"mine.jsonl", "--yes").want(t, failure.OK, "close 2 orders, list in mine.jsonl",
		"2 fixed: stopped other")
	require.Len(t, b.commands, 2)
	left, _ := filepath.Glob("*")
	require.Len(t, left, 1)
	require.Equal(t, "mine.jsonl", left[0])
	sent := core.CommandOf(b.commands[0].Event)
	require.Equal(t, core.Sender{By: "ann", Reason: "settled"}, sent.From, "its sender")
	require.Equal(t, 4, sent.Number, "its command number")
	require.True(t, strings.HasSuffix(b.commands[0].ID(), ":stopped"), "the ID ends with the order: %s", b.commands[0].ID())
	c.run(t, "bulk", "close", "--where", "state=Error", "--reason", "settled", "--file", "mine.jsonl",
		"--yes").want(t, failure.Usage, "mine.jsonl", "--file")
	r := c.run(t, "bulk", "continue", "mine.jsonl", "--output", "json")
	r.want(t, failure.OK)
	d := decodeLines(t, r.out)
	require.Len(t, d, 1)
	require.Len(t, d[0]["fixed"].([]any), 2)
	require.Empty(t, d[0]["notSent"].([]any))
	require.Len(t, b.commands, 2)
	b.commands = nil
	c.run(t, "bulk", "resubmit", "--where", "step=zone", "--reason", "fixed", "--yes").want(t,
		failure.Refused, "1 failed again: stopped", "list in bulk-20260301-")
	c.run(t, "bulk", "resubmit", "--where", "state=Error", "--reason", "fixed", "--yes", "--canary", "1",
		"--file", "two.jsonl").
		want(t, failure.Refused, "1 not sent: ", "stopped: ", "of the canary was not fixed",
			"fix the cause first\n", "bulk continue two.jsonl` sends to the 1 order not sent or unknown\n",
			"for the 1 order that failed again, run the same `stepkeeper bulk resubmit …` once more")
	c.run(t, "bulk", "continue", "none.jsonl").want(t, failure.NotFound, "the list none.jsonl",
		"name the file")
	c.run(t, "bulk", "continue", write(t, "other.jsonl", "{}")).want(t, failure.Usage, "other.jsonl",
		"make a new list")
	busy, err := bulk.Open("two.jsonl")
	require.NoError(t, err)
	defer busy.Close()
	c.run(t, "bulk", "continue", "two.jsonl").want(t, failure.Refused,
		"another process is running this list", "wait until the other process ends")
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
		{"bulk", "undo", "--where", "state=Error", "--reason", "why"},
		{"dead-letters", "discard", "replies", "x", "--reason", "why"},
	} {
		c.terminal, c.in = false, "yes\n"
		c.run(t, args...).want(t, failure.Usage, "add --yes: without a terminal nobody can confirm")
		c.terminal, c.in = true, "n\n"
		c.run(t, args...).want(t, failure.General, "[y/N]", "answer y, or give --yes")
		require.Empty(t, b.commands, "%v", args)
	}
	c.run(t, "undo", "stopped").want(t, failure.General, "Give up stopped", "nothing was undone")
	c.run(t, "undo", "stopped", "running").want(t, failure.General, "2 orders (stopped, …)")
	require.Empty(t, b.commands, "no was taken for yes")
	c.in = "yes\n"
	c.run(t, "undo", "stopped").want(t, failure.OK, "accepted")
	c.terminal, c.in = false, ""
	r := c.run(t, "undo", "stopped", "--yes")
	require.Equal(t, failure.OK, r.code, "with --yes a script is not asked")
	require.Empty(t, r.err)
}
