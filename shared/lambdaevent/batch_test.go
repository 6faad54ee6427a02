package lambdaevent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func record(queue string, n int, body string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: fmt.Sprint("m", n), ReceiptHandle: fmt.Sprint("r", n), Body: body, EventSourceARN: queue,
		Attributes: map[string]string{
			"ApproximateReceiveCount": "3", "SentTimestamp": "1795230000123",
			"SenderId": "AROA:f",
		},
	}
}

func identifiers(r events.SQSEventResponse) string {
	var ids []string
	for _, f := range r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return strings.Join(ids, " ")
}

// unmeasured is for tests that do not check the metric.
var unmeasured lambdaevent.Returned

// one holds one queue.
type one struct {
	port.Queues
	q port.Queue
}

func (o one) Queue(string) (port.Queue, error) { return o.q, nil }

func source(q port.Queue) lambdaevent.Source {
	return lambdaevent.Source{Queues: one{q: q}, URLs: map[string]string{"own": "https://sqs.example/q"}}
}

// given records which messages are returned to the queue, and fails if a test sets this.
type given struct {
	port.Queue
	batches [][]port.Extension
	fail    error
	ctx     context.Context
}

func (g *given) Extend(ctx context.Context, extensions []port.Extension) []error {
	g.ctx = ctx
	g.batches = append(g.batches, extensions)
	return slices.Repeat([]error{g.fail}, len(extensions))
}

// A message that comes again is hidden for 2 s the first time, and twice as long each further time, up to the
// visibility timeout of six times the function's timeout (rules 3, 30). One call does this for a whole batch.
// A wait that the handler has set is kept.
func TestGivenBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var event events.SQSEvent
	received := []string{"1", "2", "3", "5", "9", "10", "", "1", "1"}
	for i, n := range received {
		r := record("q", i, "x")
		r.Attributes = map[string]string{"ApproximateReceiveCount": n}
		event.Records = append(event.Records, r)
	}
	handle := func(_ context.Context, _ string, ds []port.Delivery) (failed []port.Extension) {
		for i := range ds {
			if i == 7 {
				failed = append(failed, port.Extension{Receipt: ds[i].Receipt, For: 13 * time.Hour})
			} else if i != 8 {
				failed = append(failed, port.Extension{Receipt: ds[i].Receipt})
			}
		}
		return failed
	}
	g := &given{}
	answer, err := lambdaevent.Batch(handle, source(g), unmeasured,
		slog.New(slog.DiscardHandler))(ctx, event)
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, 8)
	require.Len(t, g.batches, 1)
	require.Len(t, g.batches[0], 8)
	end, bounded := g.ctx.Deadline()
	require.True(t, bounded, "returning takes until %s", end)
	require.LessOrEqual(t, time.Until(end), time.Second)
	const s = time.Second
	for i, want := range []struct{ least, most time.Duration }{
		{2 * s, 3 * s},
		{4 * s, 6 * s},
		{8 * s, 12 * s},
		{32 * s, 48 * s},
		{59 * s, 60 * s},
		{59 * s, 60 * s},
		{2 * s, 3 * s},
		{port.MaxVisibility, port.MaxVisibility},
	} {
		got := g.batches[0][i]
		require.Equal(t, fmt.Sprint("r", i), got.Receipt, "%+v", i)
		require.GreaterOrEqual(t, got.For, want.least, "%+v", i)
		require.LessOrEqual(t, got.For, want.most, "%+v", i)
	}
}

// A message whose handler panics is returned to the queue like any other. A failure to return messages is
// logged once, and the messages come again by themselves. An expired receipt is not logged, and no body is.
func TestGivenBackAfterAPanic(t *testing.T) {
	for _, c := range []struct {
		fail  error
		lines int
	}{{nil, 0}, {port.ErrReceipt, 0}, {port.ErrUnavailable, 1}} {
		var log bytes.Buffer
		handle := func(context.Context, string, []port.Delivery) []port.Extension { panic("poison") }
		g := &given{fail: c.fail}
		event := events.SQSEvent{Records: []events.SQSMessage{record("q", 0, "x"), record("q", 1, "card 4111111111111111")}}
		answer, err := lambdaevent.Batch(handle, source(g), unmeasured,
			slog.New(slog.NewTextHandler(&log, nil)))(context.Background(), event)
		require.NoError(t, err)
		require.Equal(t, "m0 m1", identifiers(answer), "%+v", c.fail)
		require.Len(t, g.batches, 1, "%+v", c.fail)
		require.Len(t, g.batches[0], 2, "%+v", c.fail)
		require.Equal(t, c.lines, strings.Count(log.String(), "visibility timeout has passed"), "%+v", c.fail)
		require.Contains(t, log.String(), "messageId=m1")
		require.NotContains(t, log.String(), "4111111111111111")
	}
}

// Rule 2: a failed message comes again, and no other one does. The metric counts the messages that a handler could not
// handle, after a panic too. A message with a wait of the handler's own was handled, and no metric is a zero.
func TestPartialBatches(t *testing.T) {
	for _, c := range []struct {
		name     string
		bodies   []string
		want     string
		returned int
	}{
		{"none", nil, "", 0},
		{"all good", []string{"a", "b"}, "", 0},
		{"one returned", []string{"a", "fail", "c"}, "m1", 1},
		{"one waits", []string{"wait", "b"}, "m0", 0},
		{"one panics", []string{"a", "panic", "c"}, "m1", 1},
		{"one panics, one fails, one waits", []string{"fail", "panic", "c", "wait"}, "m0 m1 m3", 2},
		{"all panic", []string{"panic", "panic"}, "m0 m1", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := map[string]bool{}
			handle := func(_ context.Context, _ string, ds []port.Delivery) (failed []port.Extension) {
				for _, d := range ds {
					switch string(d.Body) {
					case "panic":
						panic("poison")
					case "fail":
						failed = append(failed, port.Extension{Receipt: d.Receipt})
					case "wait":
						failed = append(failed, port.Extension{Receipt: d.Receipt, For: time.Second})
					default:
						done[d.ID] = true
					}
				}
				return failed
			}
			var event events.SQSEvent
			good := 0
			for i, b := range c.bodies {
				event.Records = append(event.Records, record("q", i, b))
				if len(b) == 1 {
					good++
				}
			}
			var out bytes.Buffer
			metric := lambdaevent.Returned{Out: &out, Deployment: "Shop/Engine", Function: "payment"}
			answer, err := lambdaevent.Batch(handle, source(&given{}), metric,
				slog.New(slog.DiscardHandler))(context.Background(), event)
			require.NoError(t, err)
			require.Equal(t, c.want, identifiers(answer))
			require.Len(t, done, good)
			text, err := json.Marshal(answer)
			require.NoError(t, err)
			require.Contains(t, string(text), `"batchItemFailures":[`, "the list must be there")
			checkMetric(t, out.Bytes(), c.returned)
		})
	}
}

// checkMetric checks the line with the metric. There is none if no message was returned.
func checkMetric(t *testing.T, out []byte, returned int) {
	t.Helper()
	if returned == 0 {
		require.Empty(t, out)
		return
	}
	var line map[string]any
	require.NoError(t, json.Unmarshal(out, &line))
	format, _ := line["_aws"].(map[string]any)
	require.InDelta(t, time.Now().UnixMilli(), format["Timestamp"], 60_000)
	delete(format, "Timestamp")
	require.Empty(t, cmp.Diff(map[string]any{
		"Deployment": "Shop/Engine", "Function": "payment",
		"Returned": float64(returned), "_aws": map[string]any{"CloudWatchMetrics": []any{map[string]any{
			"Namespace": "Stepkeeper", "Dimensions": []any{[]any{"Deployment", "Function"}},
			"Metrics": []any{map[string]any{"Name": "Returned", "Unit": "Count"}},
		}}},
	}, line))
}

func TestRecordsBecomeDeliveries(t *testing.T) {
	var seen []string
	handle := func(_ context.Context, queue string, ds []port.Delivery) []port.Extension {
		for _, d := range ds {
			seen = append(seen, fmt.Sprintf("%s %s %s %s %d %q %s", queue, d.ID, d.Receipt, d.Body,
				d.Received, d.Sender, d.SentAt.Format(time.RFC3339Nano)))
		}
		return nil
	}
	odd := record("q", 1, "z")
	odd.Attributes = nil
	event := events.SQSEvent{Records: []events.SQSMessage{record("q", 0, "x"), odd}}
	_, err := lambdaevent.Batch(handle, source(&given{}), unmeasured, slog.New(slog.DiscardHandler))(context.Background(),
		event)
	require.NoError(t, err)
	want := []string{
		`own m0 r0 x 3 "AROA:f" 2026-11-21T03:00:00.123Z`, `own m1 r1 z 1 "" 0001-01-01T00:00:00Z`,
	}
	require.Equal(t, want, seen)
}

// P12a: what is handed over again after a panic may have been handled before.
func TestHandedOverAgainCountsAsReceivedBefore(t *testing.T) {
	var seen []int
	handle := func(_ context.Context, _ string, ds []port.Delivery) []port.Extension {
		for _, d := range ds {
			seen = append(seen, d.Received)
		}
		if len(ds) > 1 {
			panic("poison")
		}
		return nil
	}
	first := record("q", 0, "x")
	odd := record("q", 1, "y")
	first.Attributes = map[string]string{"ApproximateReceiveCount": "1"}
	odd.Attributes = nil
	event := events.SQSEvent{Records: []events.SQSMessage{first, odd}}
	_, err := lambdaevent.Batch(handle, source(&given{}), unmeasured, slog.New(slog.DiscardHandler))(context.Background(),
		event)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 2, 2}, seen)
}

// stuck is a queue that does not answer.
type stuck struct{ port.Queue }

func (stuck) Extend(ctx context.Context, _ []port.Extension) []error {
	<-ctx.Done()
	return []error{ctx.Err()}
}

// Rule 3: the function ends before Lambda ends the process, even if the handler took most of the reserve and the
// queue does not answer.
func TestMessagesAreReturnedWithinTheReserve(t *testing.T) {
	for handled, want := range map[time.Duration]time.Duration{
		5 * time.Second: 6 * time.Second, 9500 * time.Millisecond: 9900 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			handle := func(_ context.Context, _ string, ds []port.Delivery) []port.Extension {
				time.Sleep(handled)
				return []port.Extension{{Receipt: ds[0].Receipt}}
			}
			event := events.SQSEvent{Records: []events.SQSMessage{record("q", 0, "x")}}
			answer, err := lambdaevent.Batch(handle, source(stuck{}), unmeasured, slog.New(slog.DiscardHandler))(ctx, event)
			require.NoError(t, err)
			require.Len(t, answer.BatchItemFailures, 1)
			require.Equal(t, want, time.Since(start))
		})
	}
}

// Rule 3: the handler's time is over two seconds before Lambda's.
func TestReserve(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	handle := func(ctx context.Context, _ string, _ []port.Delivery) []port.Extension {
		got, ok := ctx.Deadline()
		require.True(t, ok, "the context ends at %s, Lambda's at %s", got, deadline)
		require.True(t, got.Equal(deadline.Add(-2*time.Second)))
		return nil
	}
	event := events.SQSEvent{Records: []events.SQSMessage{record("q", 0, "x")}}
	_, err := lambdaevent.Batch(handle, source(&given{}), unmeasured, slog.New(slog.DiscardHandler))(ctx, event)
	require.NoError(t, err)
}
