package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// picky is SQS for batches: an entry whose body or receipt holds "theirs" is refused as the sender's
// fault, one that holds "ours" as SQS's own; a batch that holds "down" as a whole.
type picky struct {
	t       *testing.T
	batches []int
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Entries []struct{ ID, MessageBody, ReceiptHandle string }
	}
	assert.NoError(p.t, json.NewDecoder(r.Body).Decode(&in))
	p.batches = append(p.batches, len(in.Entries))
	good := []any{}
	failed := []any{}
	for _, e := range in.Entries {
		switch text := e.MessageBody + e.ReceiptHandle; {
		case strings.Contains(text, "down"):
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case strings.Contains(text, "long"): // for the MaximumMessageSize of this queue
			failed = append(failed, map[string]any{
				"Id": e.ID, "Code": "InvalidParameterValue", "SenderFault": true,
				"Message": "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
			})
		case strings.Contains(text, "theirs"), strings.Contains(text, "ours"):
			failed = append(failed, map[string]any{
				"Id": e.ID, "Code": "Refused", "Message": "set to fail",
				"SenderFault": strings.Contains(text, "theirs"),
			})
		default:
			good = append(good, map[string]any{"Id": e.ID, "MessageId": e.ID})
		}
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Successful": good, "Failed": failed})
}

// outcome is what an entry's error means.
func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, port.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, port.ErrTooLarge):
		return "too large"
	}
	return "refused"
}

// Each entry of a batch has an outcome of its own, at its place, whatever became of the others and
// wherever they stood: in another request, or in none because of what they are.
func TestOutcomesOfABatch(t *testing.T) {
	local(t)
	bodies := []string{
		`"a"`, "", `"theirs"`, `"b"`, `"ours"`, strings.Repeat("x", port.MaxBody+1), `"c"`,
		`"d"`, `"e"`, `"f"`, `"g"`, `"h"`, `"i"`, `"theirs too"`, `"j"`,
	}
	want := []string{
		"ok", "refused", "refused", "ok", "unavailable", "too large", "ok", "ok", "ok", "ok",
		"ok", "ok", "ok", "refused", "ok",
	}
	p := &picky{t: t}
	q, err := connect(t, p, sqs.Config{URLs: map[string]string{"replies": "http://127.0.0.1/1/replies"}}).
		Queue("replies")
	require.NoError(t, err)
	messages := make([]port.Message, len(bodies))
	for i, body := range bodies {
		messages[i].Body = []byte(body)
	}
	check := func(what string, errs []error, want []string) {
		t.Helper()
		got := make([]string, len(errs))
		for i, err := range errs {
			got[i] = outcome(err)
			if err != nil && !strings.Contains(err.Error(), `queue "replies": `) {
				t.Errorf("%s: %v does not name its queue", what, err)
			}
		}
		require.Equal(t, want, got)
	}
	check("send", q.Send(context.Background(), messages), want)
	check("delete", q.Delete(context.Background(), []string{"a", "ours", "theirs", "b"}),
		[]string{"ok", "unavailable", "refused", "ok"})
	check("one request of two fails",
		q.Send(context.Background(), slices.Concat(messages[:1], []port.Message{{Body: []byte(`"down"`)}},
			messages[6:13], messages[6:8])),
		slices.Concat(slices.Repeat([]string{"unavailable"}, 10), []string{"ok"}))
	check("extend", q.Extend(context.Background(), []port.Extension{
		{Receipt: "a", For: time.Second},
		{Receipt: "ours"},
		{Receipt: "theirs"},
		{Receipt: "b"},
	}), []string{"ok", "unavailable", "refused", "ok"})
	check("extending fails", q.Extend(context.Background(), []port.Extension{{Receipt: "down"}, {Receipt: "a"}}), []string{"unavailable", "unavailable"})
	check("deleting fails", q.Delete(context.Background(), []string{"down", "a"}),
		[]string{"unavailable", "unavailable"})
	check("the queue takes less than others", q.Send(context.Background(),
		[]port.Message{{Body: []byte(`"long"`)}, messages[0]}), []string{"too large", "ok"})
	// what comes after a failed request is sent all the same
	require.Equal(t, []int{10, 3, 4, 10, 1, 4, 2, 2, 2}, p.batches)
}

// A request holds at most 256 KiB, which is what older SQS and emulators take: four of the largest messages.
func TestBatchesAreCutByBytes(t *testing.T) {
	local(t)
	p := &picky{t: t}
	q, err := connect(t, p, sqs.Config{URLs: map[string]string{"replies": "http://127.0.0.1/1/replies"}}).
		Queue("replies")
	require.NoError(t, err)
	largest := port.Message{Body: fmt.Appendf(nil, `"%s"`, strings.Repeat("x", port.MaxMessage-2))}
	small := port.Message{Body: []byte(`1`)}
	messages := slices.Concat(slices.Repeat([]port.Message{largest}, 9),
		slices.Repeat([]port.Message{small}, 12),
		slices.Repeat([]port.Message{largest}, 4))
	for i, err := range q.Send(t.Context(), messages) {
		if err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	require.Equal(t, []int{4, 4, 10, 6, 1}, p.batches)
}

// SQS counts in whole seconds, and a long wait is several polls.
func TestTimes(t *testing.T) {
	local(t)
	var seen []string
	q, err := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			DelaySeconds, WaitTimeSeconds, VisibilityTimeout *int
			MaxNumberOfMessages                              int
			Entries                                          []struct{ DelaySeconds, VisibilityTimeout *int }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		number := func(n *int) string {
			if n == nil {
				return "-"
			}
			return fmt.Sprint(*n)
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		switch operation {
		case "SendMessageBatch":
			operation += " " + number(in.Entries[0].DelaySeconds)
		case "ChangeMessageVisibilityBatch":
			for _, e := range in.Entries {
				operation += " " + number(e.VisibilityTimeout)
			}
		case "ReceiveMessage":
			operation += fmt.Sprintf(" %d %s %s", in.MaxNumberOfMessages, number(in.WaitTimeSeconds),
				number(in.VisibilityTimeout))
		default:
			operation += " " + number(in.VisibilityTimeout)
		}
		seen = append(seen, operation)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte(`{}`))
	}), sqs.Config{URLs: map[string]string{"control": "http://127.0.0.1/1/control"}}).Queue("control")
	require.NoError(t, err)
	ctx := context.Background()
	for _, d := range []time.Duration{0, time.Millisecond, 1500 * time.Millisecond, 2 * time.Second} {
		_ = q.Send(ctx, []port.Message{{Body: []byte("{}"), Delay: d}})
		require.NoError(t, q.Extend(ctx, []port.Extension{{Receipt: "r", For: d}})[0])
	}
	got, err := q.Receive(ctx, 50, 45*time.Second, 90*time.Second)
	require.NoError(t, err)
	require.Empty(t, got)
	got, err = q.Receive(ctx, 3, 0, 0)
	require.NoError(t, err)
	require.Empty(t, got)
	want := []string{ // the SDK leaves a 0 out
		"SendMessageBatch -", "ChangeMessageVisibilityBatch 0", "SendMessageBatch 1", "ChangeMessageVisibilityBatch 1",
		"SendMessageBatch 2", "ChangeMessageVisibilityBatch 2", "SendMessageBatch 2", "ChangeMessageVisibilityBatch 2",
		"ReceiveMessage 10 20 90", "ReceiveMessage 10 20 90", "ReceiveMessage 10 5 90",
		"ReceiveMessage 3 - -",
	}
	require.Equal(t, want, seen)
	seen = nil
	want = []string{"ChangeMessageVisibilityBatch 0 2"}
	for i, err := range q.Extend(ctx, []port.Extension{
		{Receipt: "a"},
		{Receipt: "b", For: 1500 * time.Millisecond},
		{Receipt: "c", For: 13 * time.Hour},
	}) {
		require.Equal(t, i == 2, err != nil, "%+v", i)
	}
	require.Equal(t, want, seen)
	for _, d := range []time.Duration{-time.Second, port.MaxVisibility + time.Second} {
		_, err := q.Receive(ctx, 1, 0, d)
		require.Error(t, err, "%+v", d)
		require.Len(t, seen, len(want), "%+v", d)
		require.Error(t, q.Extend(ctx, []port.Extension{{Receipt: "r", For: d}})[0], "%+v", d)
		require.Len(t, seen, len(want), "%+v", d)
	}
}

// SQS takes the characters of XML 1.0 only; what JSON may hold besides is escaped, and arrives as it was.
func TestCharactersThatSQSRefuses(t *testing.T) {
	local(t)
	clock := memory.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	inner, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: "requests-payment"}})
	require.NoError(t, err)
	q, err := connect(t, sqsproto.New(sqsproto.Config{Queues: inner, Clock: clock}),
		sqs.Config{LookUp: true}).Queue("requests-payment")
	require.NoError(t, err)
	const name = "a\uFFFE\uFFFFb\uFFFDc\uFDD0\U0001FFFE\x7f\\\uFFFE\"\n\u0001"
	body, err := rawjson.Marshal(map[string]string{name: name})
	require.NoError(t, err)
	require.NoError(t, q.Send(context.Background(), []port.Message{{Body: body}})[0])
	got, err := q.Receive(context.Background(), 1, 0, time.Minute)
	require.NoError(t, err)
	require.Len(t, got, 1)
	var back map[string]string
	require.NoError(t, json.Unmarshal(got[0].Body, &back))
	require.Equal(t, name, back[name])
}
