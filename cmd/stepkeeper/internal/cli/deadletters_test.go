package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// atOnce does not wait for messages.
type atOnce struct{ *memory.Queues }

func (q atOnce) Queue(name string) (port.Queue, error) {
	found, err := q.Queues.Queue(name)
	return receivesAtOnce{found}, err
}

type receivesAtOnce struct{ port.Queue }

func (q receivesAtOnce) Receive(ctx context.Context, most int, _,
	visibility time.Duration,
) ([]port.Delivery, error) {
	return q.Queue.Receive(ctx, most, 0, visibility)
}

// givenUp returns a stack with messages that wait for the operator: two dead replies, and two messages in
// quarantine.
func givenUp(t *testing.T) (*memory.Queues, call) {
	t.Helper()
	return givenUpIn(t, "no workflow <b>\x1b[31m", func(q port.Queues) port.Queues { return q })
}

// givenUpIn is like givenUp, with the reason of the quarantine, and with queues that are wrapped for the stack.
func givenUpIn(t *testing.T, reason string, seen func(port.Queues) port.Queues) (*memory.Queues, call) {
	t.Helper()
	w := stacktest.New(t, stacktest.Memory())
	var configs []memory.QueueConfig
	for _, name := range []string{
		port.Replies, port.Dead(port.Replies), port.Intake, port.Quarantine,
		client.MissedSweeps,
	} {
		configs = append(configs, memory.QueueConfig{Name: name})
	}
	queues, err := memory.NewQueues(port.ClockFunc(func() time.Time { return noon }), configs)
	require.NoError(t, err)
	w.Parts.Queues = seen(atOnce{queues})
	w.Parts.Outputs.Dead = map[string]string{
		port.Replies: "url", port.Quarantine: "url",
		client.MissedSweeps: "url",
	}
	w.Parts.Outputs.Workflows = map[string]string{"Order": "hash"}
	put := func(queue string, m port.Message) {
		q, err := queues.Queue(queue)
		if err == nil {
			err = q.Send(t.Context(), []port.Message{m})[0]
		}
		require.NoError(t, err)
	}
	for _, id := range []string{"o-1", "o-2"} {
		put(port.Dead(port.Replies),
			port.Message{Body: []byte(`{"schema":1,"task":"` + id +
				`","step":"charge","attempt":2,"outcome":"done"}`)})
	}
	for _, workflow := range []string{"order", "refund"} {
		body := fmt.Sprintf(`{"schema":1,"orderId":"q-%s","workflow":%q,"order":{"card":"4111111111111111"}}`,
			workflow, workflow)
		put(port.Quarantine, port.Message{
			Value: message.Quarantine(port.Intake,
				port.Delivery{Message: port.Message{Body: []byte(body)}}, reason, 1),
		})
	}
	return queues, onStack(w, "")
}

func (c call) deadLetters(t *testing.T, args ...string) result {
	t.Helper()
	return c.run(t, append(append([]string{"dead-letters"}, args...), "--stack", "Shop", "--region",
		"eu-central-1")...)
}

func waiting(t *testing.T, queues *memory.Queues, name string) int {
	t.Helper()
	q, err := queues.Queue(name)
	require.NoError(t, err)
	d, err := q.Depth(t.Context())
	require.NoError(t, err)
	return d.Visible
}

// The queues and their messages are listed. Bodies are shown only on request.
func TestDeadLettersAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues, c := givenUp(t)
		run := func(args ...string) result { return c.deadLetters(t, args...) }
		r := run("list")
		r.want(t, failure.OK, "QUEUE")
		require.Regexp(t, `(?m)^missed-sweeps +0 +- +-\n`+
			`quarantine +2 +2026-03-01 12:00:00 UTC +2026-03-15 12:00:00 UTC\nreplies +2 `, r.out)
		listed := decodeLines(t, run("list", "--output", "json").out)
		require.Len(t, listed, 3)
		require.Nil(t, listed[0]["oldest"])
		require.Equal(t, "quarantine", listed[1]["queue"])
		require.EqualValues(t, 2, listed[1]["messages"])
		run("list", "replies").want(t, failure.OK,
			"reply of order o-1, step charge, attempt 2\n    sent 2026-03-01 12:00:00 UTC, received ",
			"would be redriven to replies")
		r = run("list", "quarantine")
		r.want(t, failure.OK, "in quarantine: no workflow <b>",
			"would not be redriven to intake: the workflow refund is not deployed in this stack",
			"would be redriven to intake\n")
		require.NotContains(t, r.out, "4111111111111111")
		require.NotContains(t, r.out, "\x1b")
		run("list", "quarantine", "--body").want(t, failure.OK, `"card":"4111111111111111"`)
		l := decodeLines(t, run("list", "quarantine", "--body", "--output", "json").out)
		require.Len(t, l, 2)
		require.Equal(t, "q-order", l[0]["orderId"])
		require.Equal(t, "intake", l[0]["queue"])
		require.Contains(t, fmt.Sprint(l[0]["body"]), "4111111111111111")
		require.Equal(t, "submission", l[0]["kind"])
		l = decodeLines(t, run("list", "quarantine", "--limit", "1", "--output", "json").out)
		require.Len(t, l, 1)
		require.Nil(t, l[0]["body"])
		r = run("list", "missed-sweeps")
		require.Equal(t, failure.OK, r.code)
		require.Equal(t, "no message is visible\n", r.err)
		dead, err := queues.Queue(port.Dead(port.Replies))
		if err == nil {
			err = dead.Send(t.Context(), []port.Message{{Body: []byte{0xff}}})[0]
		}
		require.NoError(t, err)
		run("list", "replies", "--body").want(t, failure.OK, "of no order that can be read")
		l = decodeLines(t, run("list", "replies", "--body", "--output", "json").out)
		require.Len(t, l, 3)
		require.Equal(t, "/w==", l[2]["bodyBase64"])
		require.Nil(t, l[2]["body"])
		require.Nil(t, l[0]["bodyBase64"])
		run("list", "replys").want(t, failure.NotFound,
			`there are no dead letters of a queue "replys"; there are those of missed-sweeps, quarantine, replies`,
			"dead-letters list")
		run("list", "replies", "--limit", "0").want(t, failure.Usage, "1 to 1000")
		call{}.run(t, "dead-letters", "list").want(t, failure.Unreachable, "stepkeeper dev")
	})
}

// failing refuses to send, or to delete, the message of the order o-1.
type failing struct {
	port.Queues
	sends, deletes bool
	held           map[string]bool // receipts of the message
}

func (q *failing) Queue(name string) (port.Queue, error) {
	found, err := q.Queues.Queue(name)
	return failingQueue{found, q}, err
}

type failingQueue struct {
	port.Queue
	*failing
}

func (q failingQueue) Receive(ctx context.Context, most int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	all, err := q.Queue.Receive(ctx, most, wait, visibility)
	for _, d := range all {
		if strings.Contains(string(d.Body), `"o-1"`) {
			q.held[d.Receipt] = true
		}
	}
	return all, err
}

func (q failingQueue) Send(ctx context.Context, messages []port.Message) []error {
	if q.sends && strings.Contains(string(messages[0].Body), `"o-1"`) {
		return []error{errors.New("the queue is out of order")}
	}
	return q.Queue.Send(ctx, messages)
}

func (q failingQueue) Delete(ctx context.Context, receipts []string) []error {
	if q.deletes && q.held[receipts[0]] {
		return []error{errors.New("the queue is out of order")}
	}
	return q.Queue.Delete(ctx, receipts)
}

// A command that fails with one of two messages handles the other one, and its exit code reports the failure.
func TestDeadLettersThatFail(t *testing.T) {
	for name, x := range map[string]struct {
		action         string
		sends, deletes bool
		want           string
	}{
		"a redrive that is not sent": {"redrive", true, false, "failed (order o-1): it was not sent: "},
		"a redrive that is not deleted": {
			"redrive", false, true,
			"failed (order o-1): it was sent to replies and is here still",
		},
		"a discard": {"discard", false, true, "failed (order o-1): "},
	} {
		t.Run(name, func(t *testing.T) {
			queues, c := givenUpIn(t, "refused", func(q port.Queues) port.Queues {
				return &failing{q, x.sends, x.deletes, map[string]bool{}}
			})
			r := c.deadLetters(t, x.action, "replies", "--all", "--yes", "--rate", "1000", "--reason", "over",
				"--journal", filepath.Join(t.TempDir(), "f"))
			r.want(t, failure.Refused, x.want, "out of order", "(order o-2)\n")
			require.LessOrEqual(t, waiting(t, queues, port.Dead(port.Replies)), 1)
		})
	}
}

// The chosen messages are redriven or discarded, and each is recorded in the file before.
func TestDeadLettersAreHandled(t *testing.T) {
	queues, c := givenUp(t)
	run := func(args ...string) result { return c.deadLetters(t, args...) }
	file := filepath.Join(t.TempDir(), "handled.jsonl")
	id := fmt.Sprint(decodeLines(t, run("list", "replies", "--output", "json").out)[0]["id"])
	why := []string{"--reason", "the table was throttled", "--rate", "1000", "--journal", file}
	do := func(args ...string) result { return run(slices.Concat(args[:1], why, args[1:])...) }

	do("redrive", "replies").want(t, failure.Usage, "say which messages of replies",
		"dead-letters list replies")
	do("redrive", "replies", id, "--all").want(t, failure.Usage, "say which messages")
	do("redrive", "replies", "--all").want(t, failure.Usage, "add --yes")
	do("redrive", "replies", id, "--reason", "").want(t, failure.Usage,
		"--reason is missing, and nothing was done")
	do("redrive", "nowhere", id).want(t, failure.NotFound, "nowhere")
	do("redrive", "replies", id, "--journal", filepath.Join(file, "no", "folder")).want(t, failure.Usage,
		"cannot be recorded, and nothing was done", "--journal")
	do("redrive", "replies", "--all", "--dry-run").want(t, failure.OK,
		id+": would be redriven to replies (order o-1)\n", "(order o-2)")
	asked := c
	asked.terminal = true
	asked.in = "n\n"
	asked.deadLetters(t, append([]string{"redrive", "replies", "--all"}, why...)...).want(t,
		failure.General, "Redrive all messages, 2 now, of replies?", "nothing was done")
	asked.deadLetters(t, append([]string{"discard", "replies", id}, why...)...).want(t, failure.General,
		"Discard 1 message of replies?", "nothing was done")
	require.Equal(t, 2, waiting(t, queues, port.Dead(port.Replies)), "a message is gone")
	do("redrive", "replies", id, "--by", "ada").want(t, failure.OK, id+": redriven to replies (order o-1)\n")
	do("redrive", "replies", id).want(t, failure.NotFound, id+": missing: it is not there")
	require.Equal(t, 1, waiting(t, queues, port.Dead(port.Replies)), "not exactly one was redriven")
	require.Equal(t, 1, waiting(t, queues, port.Replies))
	r := do("redrive", "quarantine", "--all", "--yes", "--output", "json")
	r.want(t, failure.Refused)
	l := decodeLines(t, r.out)
	require.Len(t, l, 2)
	require.Equal(t, "redriven", l[0]["result"])
	require.Equal(t, "intake", l[0]["to"])
	require.Equal(t, "refused", l[1]["result"])
	require.Equal(t, "the workflow refund is not deployed in this stack", l[1]["text"])
	do("discard", "quarantine", "--all", "--yes").want(t, failure.OK, ": discarded (order q-refund)\n")
	do("discard", "quarantine", "--all", "--yes").want(t, failure.NotFound,
		"queue quarantine shows none of these messages, so nothing was done")
	require.Equal(t, 0, waiting(t, queues, port.Quarantine), "not exactly one went back")
	require.Equal(t, 1, waiting(t, queues, port.Intake))

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var results []string
	for _, l := range decodeLines(t, string(text)) {
		require.Equal(t, "the table was throttled", l["reason"])
		require.NotEmpty(t, l["by"])
		require.NotNil(t, l["at"])
		results = append(results, fmt.Sprint(l["result"], " ", l["orderId"]))
	}
	got := strings.Join(results, ", ")
	require.Equal(t, "begun o-1, redriven o-1, missing <nil>, begun q-order, redriven q-order, refused "+
		"q-refund, begun q-refund, discarded q-refund", got)
	require.NotContains(t, string(text), "4111111111111111", "the file holds an order")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}
