package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// bulkOver returns a call in an empty folder, over a server with two orders in Error: stopped, and other of the
// workflow order.
func bulkOver(t *testing.T) (*backend, call) {
	t.Helper()
	t.Chdir(t.TempDir())
	b := newBackend(noon)
	fill(b)
	at := core.TimeOf(noon)
	b.Put(&protocol.Task{
		OrderID: "other", Workflow: "order", ProcessState: core.Error, Phase: core.Forward,
		Created: at.Add(30 * core.Second),
		Reason:  protocol.Reason{Code: "http-422", Text: "declined", Step: "charge"},
		End:     protocol.End{At: at.Add(31 * core.Second)},
		Steps: []protocol.Step{{
			Name: "charge", State: core.Failed, Attempt: 1, First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at},
		}},
	})
	return b, call{server: serve(t, b).URL}
}

// Sent commands are recorded in a file, from which `continue` continues: what was sent is not sent again.
func TestBulkSendsAndContinues(t *testing.T) {
	b, c := bulkOver(t)
	c.run(t, "close", "--where", "state=Error", "--by", "ann", "--reason", "settled", "--journal", "mine.jsonl",
		"--yes").want(t, failure.OK, "close 2 orders, journal mine.jsonl", "2 fixed: stopped other")
	require.Len(t, b.Commands, 2)
	sent := core.CommandOf(b.Commands[0].Event)
	require.Equal(t, core.Sender{By: "ann", Reason: "settled"}, sent.Sender)
	require.Equal(t, 4, sent.Number)
	require.Regexp(t, ":stopped$", b.Commands[0].ID())
	left, err := filepath.Glob("*")
	require.NoError(t, err)
	require.Equal(t, []string{"mine.jsonl"}, left)

	c.run(t, "close", "--where", "state=Error", "--reason", "settled", "--journal", "mine.jsonl", "--yes").want(t,
		failure.Usage, "mine.jsonl", "--journal")
	r := c.run(t, "continue", "mine.jsonl", "--output", "json")
	r.want(t, failure.OK)
	report := decodeLines(t, r.out)
	require.Len(t, report, 1)
	require.Len(t, report[0]["fixed"], 2)
	require.Empty(t, report[0]["notSent"])
	require.Len(t, b.Commands, 2)
}

func TestBulkReportsWhatFailedAgain(t *testing.T) {
	_, c := bulkOver(t)
	c.run(t, "resubmit", "--where", "step=zone", "--reason", "fixed", "--yes").want(t, failure.Refused,
		"1 failed again: stopped", "journal bulk-20260301-")
	c.run(t, "resubmit", "--where", "state=Error", "--reason", "fixed", "--yes", "--canary", "1", "--journal",
		"two.jsonl").want(t, failure.Refused, "1 not sent: ", "stopped: ", "of the canary was not fixed",
		"fix the cause first\n", "`stepkeeper continue two.jsonl` sends to the 1 order not sent or unknown\n",
		"for the 1 order that failed again, run the same `stepkeeper resubmit --where …` once more")
	t.Run("and continues from a list that no other process runs", func(t *testing.T) {
		busy, err := bulk.Open("two.jsonl")
		require.NoError(t, err)
		defer busy.Close()
		c.run(t, "continue", "two.jsonl").want(t, failure.Refused, "another process is running this list",
			"wait until the other process ends")
	})
	t.Run("and sends nothing to another server", func(t *testing.T) {
		text, err := os.ReadFile("two.jsonl")
		require.NoError(t, err)
		empty := newBackend(noon)
		staging := newBackend(noon)
		staging.Put(&protocol.Task{OrderID: "other", Workflow: "order", ProcessState: core.Error, Created: core.TimeOf(noon)})
		for want, s := range map[string]*backend{
			"none of the 1 that are left is there": empty, "its order other was received at another time": staging,
		} {
			call{server: serve(t, s).URL}.run(t, "continue", "two.jsonl").want(t, failure.Refused, want, "--server")
			require.Empty(t, s.Commands)
		}
		call{server: "http://127.0.0.1:1"}.run(t, "continue", "two.jsonl").want(t, failure.Unreachable, "is it running?")
		after, err := os.ReadFile("two.jsonl")
		require.NoError(t, err)
		require.Equal(t, string(text), string(after))
		c.run(t, "continue", "two.jsonl").want(t, failure.Refused, "2 failed again: stopped other")
	})
	for text, want := range map[string]string{
		"":               "it has no complete line\n",
		"{}":             "it has no complete line\n",
		"{\"seat\":1}\n": "its first line is not the header of a journal\n",
	} {
		c.run(t, "continue", write(t, "other.jsonl", text)).want(t, failure.Usage, "other.jsonl: "+want, "make a new list")
	}
}
