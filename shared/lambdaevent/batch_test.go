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
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func record(queue string, n int, body string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: fmt.Sprint("m", n), ReceiptHandle: fmt.Sprint("r", n), Body: body, EventSourceARN: queue,
		Attributes: map[string]string{"ApproximateReceiveCount": "3", "SentTimestamp": "1795230000123", "SenderId": "AROA:f"},
	}
}

func identifiers(r events.SQSEventResponse) string {
	var ids []string
	for _, f := range r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return strings.Join(ids, " ")
}

// Rule 2: what fails comes again, and nothing else, whatever happens to a neighbour.
func TestPartialBatches(t *testing.T) {
	for _, c := range []struct {
		name   string
		bodies []string
		want   string
	}{
		{"none", nil, ""},
		{"all good", []string{"a", "b"}, ""},
		{"one given back", []string{"a", "fail", "c"}, "m1"},
		{"one panics", []string{"a", "panic", "c"}, "m1"},
		{"one panics, one fails", []string{"fail", "panic", "c"}, "m0 m1"},
		{"all panic", []string{"panic", "panic"}, "m0 m1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := map[string]bool{}
			handle := func(_ context.Context, _ string, ds []port.Delivery) (failed []string) {
				for _, d := range ds {
					switch string(d.Body) {
					case "panic":
						panic("poison")
					case "fail":
						failed = append(failed, d.Receipt)
					default:
						done[d.ID] = true
					}
				}
				return failed
			}
			var event events.SQSEvent
			for i, b := range c.bodies {
				event.Records = append(event.Records, record("q", i, b))
			}
			answer, err := lambdaevent.Batch(handle, slog.New(slog.DiscardHandler))(context.Background(), event)
			if err != nil || answer.BatchItemFailures == nil || identifiers(answer) != c.want {
				t.Errorf("failures %q, error %v; want %q", identifiers(answer), err, c.want)
			}
			for i, b := range c.bodies {
				if b != "panic" && b != "fail" && !done[fmt.Sprint("m", i)] {
					t.Errorf("message %d was not handled", i)
				}
			}
			if text, _ := json.Marshal(answer); !bytes.Contains(text, []byte(`"batchItemFailures":[`)) {
				t.Errorf("the answer is %s; the list must be there", text)
			}
		})
	}
}

func TestRecordsBecomeDeliveries(t *testing.T) {
	var seen []string
	handle := func(_ context.Context, queue string, ds []port.Delivery) []string {
		for _, d := range ds {
			seen = append(seen, fmt.Sprintf("%s %s %s %s %d %q %s", queue, d.ID, d.Receipt, d.Body, d.Received, d.Sender, d.SentAt.Format(time.RFC3339Nano)))
		}
		return nil
	}
	odd := record("b", 2, "z")
	odd.Attributes = nil
	event := events.SQSEvent{Records: []events.SQSMessage{record("a", 0, "x"), odd, record("a", 1, "y")}}
	if _, err := lambdaevent.Batch(handle, slog.New(slog.DiscardHandler))(context.Background(), event); err != nil {
		t.Fatal(err)
	}
	want := []string{`a m0 r0 x 3 "AROA:f" 2026-11-21T03:00:00.123Z`, `a m1 r1 y 3 "AROA:f" 2026-11-21T03:00:00.123Z`, `b m2 r2 z 1 "" 0001-01-01T00:00:00Z`}
	if !slices.Equal(seen, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

// P12a: what is handed over again after a panic may have been handled before.
func TestHandedOverAgainCountsAsReceivedBefore(t *testing.T) {
	var seen []int
	handle := func(_ context.Context, _ string, ds []port.Delivery) []string {
		for _, d := range ds {
			seen = append(seen, d.Received)
		}
		if len(ds) > 1 {
			panic("poison")
		}
		return nil
	}
	first, odd := record("q", 0, "x"), record("q", 1, "y")
	first.Attributes, odd.Attributes = map[string]string{"ApproximateReceiveCount": "1"}, nil
	event := events.SQSEvent{Records: []events.SQSMessage{first, odd}}
	if _, err := lambdaevent.Batch(handle, slog.New(slog.DiscardHandler))(context.Background(), event); err != nil || !slices.Equal(seen, []int{1, 1, 2, 2}) {
		t.Errorf("received %v times, %v", seen, err)
	}
}

// Rule 3: the handler's time is over two seconds before Lambda's.
func TestReserve(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	handle := func(ctx context.Context, _ string, _ []port.Delivery) []string {
		if got, ok := ctx.Deadline(); !ok || !got.Equal(deadline.Add(-2*time.Second)) {
			t.Errorf("the context ends at %s, Lambda's at %s", got, deadline)
		}
		return nil
	}
	event := events.SQSEvent{Records: []events.SQSMessage{record("q", 0, "x")}}
	if _, err := lambdaevent.Batch(handle, slog.New(slog.DiscardHandler))(ctx, event); err != nil {
		t.Fatal(err)
	}
}

// Bodies never reach the log, also not by way of a panic's record.
func TestPanicIsLoggedByID(t *testing.T) {
	var log bytes.Buffer
	handle := func(context.Context, string, []port.Delivery) []string { panic("poison") }
	event := events.SQSEvent{Records: []events.SQSMessage{record("q", 7, "card 4111")}}
	if _, err := lambdaevent.Batch(handle, slog.New(slog.NewTextHandler(&log, nil)))(context.Background(), event); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "messageId=m7") || strings.Contains(log.String(), "4111") {
		t.Errorf("logged:\n%s", log.String())
	}
}
