package cli

import (
	"context"
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
// quarantine for a reason.
func givenUp(t *testing.T, reason string) (*memory.Queues, call) {
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
	w.Parts.Queues = atOnce{queues}
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

// The queues and their messages are listed. Bodies are shown only on request. TestDeadLettersPage has the text.
func TestDeadLettersAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues, c := givenUp(t, "no workflow <b>\x1b[31m")
		run := func(args ...string) result { return c.deadLetters(t, args...) }
		r := run("list", "quarantine")
		r.want(t, failure.OK, "in quarantine: no workflow <b>", "would not be redriven to intake: the workflow refund is")
		require.NotContains(t, r.out, "4111111111111111")
		require.NotContains(t, r.out, "\x1b")
		run("list", "quarantine", "--body").want(t, failure.OK, `"card":"4111111111111111"`)
		l := decodeLines(t, run("list", "quarantine", "--body", "--output", "json").out)
		require.Len(t, l, 2)
		require.Equal(t, "q-order", l[0]["orderId"])
		require.Contains(t, fmt.Sprint(l[0]["body"]), "4111111111111111")
		l = decodeLines(t, run("list", "quarantine", "--limit", "1", "--output", "json").out)
		require.Len(t, l, 1)
		require.Nil(t, l[0]["body"])
		run("list", "missed-sweeps").want(t, failure.OK, "no message is visible\n")
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
		run("list", "replys").want(t, failure.NotFound,
			`there are no dead letters of a queue "replys"; there are those of missed-sweeps, quarantine, replies`,
			"dead-letters list")
	})
}

// The chosen messages are redriven or discarded, and each is recorded in the file before.
func TestDeadLettersAreHandled(t *testing.T) {
	queues, c := givenUp(t, "no workflow <b>\x1b[31m")
	run := func(args ...string) result { return c.deadLetters(t, args...) }
	file := filepath.Join(t.TempDir(), "handled.jsonl")
	id := fmt.Sprint(decodeLines(t, run("list", "replies", "--output", "json").out)[0]["id"])
	why := []string{"--reason", "the table was throttled", "--rate", "1000", "--journal", file}
	do := func(args ...string) result { return run(slices.Concat(args[:1], why, args[1:])...) }

	do("redrive", "replies", id, "--all").want(t, failure.Usage, "say which messages")
	do("redrive", "nowhere", id).want(t, failure.NotFound, "nowhere")
	do("redrive", "replies", id, "--journal", filepath.Join(file, "no", "folder")).want(t, failure.Usage,
		"cannot be recorded, and nothing was done", "--journal")
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
	require.Equal(t, "intake", l[0]["to"])
	require.Equal(t, "refused", l[1]["result"])
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
