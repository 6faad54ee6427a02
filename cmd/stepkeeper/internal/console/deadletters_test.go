package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/journal"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// quarantined returns an order in quarantine.
func quarantined(id, workflow string) port.Message {
	body := `{"schema":1,"orderId":"` + id + `","workflow":"` + workflow +
		`","order":{"card":"4111111111111111","customer":{"name":"Ada"},"note":"fragile"}}`
	return port.Message{Value: message.Quarantine(port.Intake,
		port.Delivery{Message: port.Message{Body: []byte(body)}, ID: "first"}, "no workflow <gone>",
		1_800_000_000_000)}
}

// recordedQueues replies in the protocol of SQS like a server with two quarantined orders and a dead reply.
func recordedQueues(t *testing.T) http.Handler {
	t.Helper()
	clock := port.ClockFunc(func() time.Time { return moment(30).Std() })
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{
		{Name: port.Quarantine},
		{Name: port.Dead(port.Replies)},
		{Name: port.Dead(port.Control)},
		{Name: port.Replies},
	})
	require.NoError(t, err)
	for queue, messages := range map[string][]port.Message{
		port.Quarantine: {
			quarantined("busy", "order"),
			quarantined("other", "gone"),
		},
		port.Dead(port.Replies): {
			{Body: []byte(`{"schema":1,"task":"broken","step":"charge","attempt":3,"outcome":"done"}`)},
		},
	} {
		q, err := queues.Queue(queue)
		require.NoError(t, err)
		for _, err := range q.Send(t.Context(), messages) {
			require.NoError(t, err)
		}
	}
	return sqsproto.New(sqsproto.Config{Queues: queues, Clock: clock})
}

// giveUp puts messages into a dead-letter queue of the server.
func (w *world) giveUp(queue string, messages ...port.Message) {
	w.Helper()
	q, err := sqs.New(sdk.Config{
		Region: "local", BaseEndpoint: &w.url,
		Credentials: sdk.AnonymousCredentials{},
	}, sqs.Config{LookUp: true}).Queue(queue)
	require.NoError(w, err)
	for _, err := range q.Send(context.Background(), messages) {
		require.NoError(w, err)
	}
}

// letters is a console with four quarantined messages. Each test of it goes on where the one before has ended.
type letters struct {
	*world
	ids  map[string]string // by the order
	form url.Values        // filled in, with nothing chosen
}

const quarantinePage = "/dead-letters/quarantine"

// Dead letters can be listed, read, redriven and discarded. Each action is recorded in a file before. TestEveryPage
// has the pages.
func TestDeadLetterPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made")
	w := newWorld(t, func(o *console.Options) {
		o.Folder = folder
		o.Redact = console.Redaction{{"card"}, {"customer", "name"}}
	})
	close(w.hold)
	w.giveUp(port.Quarantine, quarantined("o-1", "order"), quarantined("o-2", "gone"),
		quarantined("o-3", "order"), port.Message{Body: []byte("no envelope")})
	l := &letters{world: w, ids: map[string]string{}, form: w.handlingForm(quarantinePage)}
	l.form.Set("by", "ada")
	l.form.Set("reason", "the workflow is there")
	for _, test := range []struct {
		name string
		run  func(t *testing.T, l *letters)
	}{
		{"they are listed without their bodies", lettersAreListed},
		{"a body that is not JSON is redacted as a whole", bodiesAreRedacted},
		{"a form with a wrong field does nothing", wrongFormsDoNothing},
		{"the chosen messages are redriven", lettersAreRedriven},
		{"the chosen messages are discarded, once", lettersAreDiscarded},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, l) })
	}
	t.Run("all was recorded", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(folder, "dead-letters.jsonl"))
		require.NoError(t, err)
		var results []string
		for line := range strings.Lines(string(text)) {
			var h struct{ Result, By, Reason string }
			require.NoError(t, json.Unmarshal([]byte(line), &h), line)
			require.Equal(t, "ada", h.By, line)
			require.Equal(t, "the workflow is there", h.Reason, line)
			results = append(results, h.Result)
		}
		require.ElementsMatch(t, []string{
			"begun", "begun", "begun", "discarded", "discarded", "missing", "missing",
			"redriven", "refused",
		}, results)
	})
	t.Run("of no queue", func(t *testing.T) {
		status, body := w.get("/dead-letters/replys")
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, body, "There is no such queue")
	})
}

func lettersAreListed(t *testing.T, l *letters) {
	_, body := l.get("/dead-letters")
	wants(t, body, "<td class=\"number\">4</td>")
	_, body = l.get(quarantinePage)
	wants(t, body, "it cannot be read")
	require.NotContains(t, body, "note")
	for _, m := range regexp.MustCompile(`(?s)name="id" value="([^"]+)".*?</p>`).FindAllStringSubmatch(body, -1) {
		for _, order := range []string{"o-1", "o-2", "o-3", "order unknown"} {
			if strings.Contains(m[0], order) {
				l.ids[order] = m[1]
			}
		}
	}
	require.Len(t, l.ids, 4)
}

func bodiesAreRedacted(t *testing.T, l *letters) {
	_, body := l.get(quarantinePage + "?body=" + l.ids["order unknown"])
	require.NotContains(t, body, "no envelope", "what cannot be redacted is not shown")
}

func wrongFormsDoNothing(t *testing.T, l *letters) {
	l.form.Set("action", "redrive")
	l.form["id"] = []string{l.ids["o-1"], l.ids["o-2"]}
	for name, value := range map[string]string{"by": "", "reason": " ", "token": "x", "action": ""} {
		bad := maps.Clone(l.form)
		bad.Set(name, value)
		_, body := l.post(quarantinePage, bad)
		require.Regexp(t, "nothing was done|Refused|name in 1 to|say why in 1 to", body, name)
	}
	bad := maps.Clone(l.form)
	bad.Del("id")
	_, body := l.post(quarantinePage, bad)
	require.Contains(t, body, "nothing was done")
}

func lettersAreRedriven(t *testing.T, l *letters) {
	status, body := l.post(quarantinePage, l.form)
	require.Equal(t, http.StatusOK, status)
	wants(t, body, l.ids["o-1"]+": redriven", l.ids["o-2"]+": refused, there is no workflow gone", `role="alert"`)
	require.NotContains(t, body, `id="letter-`+l.ids["o-1"])
	require.Contains(t, body, `id="letter-`+l.ids["o-3"])
	l.until("the redriven order is processed", l.inState("o-1", "Processed"))
	_, err := l.client.Get(t.Context(), "o-3")
	require.ErrorIs(t, err, client.ErrNotFound, "a message that was not chosen stays")
}

func lettersAreDiscarded(t *testing.T, l *letters) {
	l.form.Set("action", "discard")
	l.form["id"] = []string{l.ids["o-2"], l.ids["order unknown"]}
	_, body := l.post(quarantinePage, l.form)
	wants(t, body, l.ids["o-2"]+": discarded", l.ids["order unknown"]+": discarded", `role="status"`)
	_, body = l.post(quarantinePage, l.form)
	wants(t, body, l.ids["o-2"]+": missing", `role="alert"`)
	_, body = l.get("/dead-letters")
	wants(t, body, "<td class=\"number\">1</td>")
}

// handlingForm returns the form of a page of messages, with nothing chosen.
func (w *world) handlingForm(page string) url.Values {
	w.Helper()
	_, body := w.get(page)
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(body)
	require.NotNil(w, token)
	return url.Values{"token": token[1:]}
}

// No message is handled if this cannot be recorded.
func TestDeadLettersAreNotHandled(t *testing.T) {
	folder := t.TempDir()
	w := newWorld(t, func(o *console.Options) { o.Folder = filepath.Join(folder, "file") })
	require.NoError(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	w.giveUp(port.Dead(port.Replies), port.Message{Body: []byte(`{"task":"o-1"}`)})
	_, body := w.get("/dead-letters/replies")
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(body)[1]
	form := w.handlingForm("/dead-letters/replies")
	form.Set("id", id)
	form.Set("by", "ada")
	form.Set("reason", "why")
	form.Set("action", "discard")
	_, body = w.post("/dead-letters/replies", form)
	wants(t, body, "Nothing was done, because it cannot be recorded", `id="letter-`+id)
	record := filepath.Join(folder, "file", journal.Name)
	require.NoError(t, errors.Join(os.Remove(filepath.Join(folder, "file")), os.MkdirAll(record, 0o700)))
	_, body = w.post("/dead-letters/replies", form)
	wants(t, body, "Nothing was done, because it cannot be recorded", `id="letter-`+id)
	require.NoError(t, errors.Join(os.Remove(record), os.Symlink("/dev/full", record)))
	_, body = w.post("/dead-letters/replies", form)
	wants(t, body, "no space left on device", `id="letter-`+id)
}
