package lambdaevent

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Reserve is how long before Lambda's own deadline a handler's context ends: time to give back what
// is under way, and to write a last line to the log (rule 3).
const Reserve = 2 * time.Second

// Handle takes deliveries of one queue, known by its ARN. It answers the receipts of those that
// must come again; all others are deleted.
type Handle func(ctx context.Context, queueARN string, deliveries []port.Delivery) (failed []string)

// Function is what package lambda starts for an SQS event.
type Function func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error)

// Batch makes a Function of a Handle. Its error is always nil: a whole batch that failed would
// come again with all that went well in it (rule 2).
//
// If handle panics, the deliveries of its queue are handed to it once more, one by one, and only
// those that panic again come again; whatever it had done before must bear repetition (P12).
func Batch(handle Handle, log *slog.Logger) Function {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		ctx, cancel := WithReserve(ctx)
		defer cancel()
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		for _, b := range batches(event.Records) {
			failed := map[string]bool{}
			for _, receipt := range b.handle(ctx, handle, log) {
				failed[receipt] = true
			}
			for i := range b.deliveries {
				if failed[b.deliveries[i].Receipt] {
					answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: b.deliveries[i].ID})
				}
			}
		}
		return answer, nil
	}
}

// WithReserve ends the context Reserve before its deadline; one without a deadline stays as it is.
func WithReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-Reserve))
}

// batch is what an event holds of one queue. Lambda never mixes queues in one event; a message
// injected by hand may.
type batch struct {
	queueARN   string
	deliveries []port.Delivery
}

func batches(records []events.SQSMessage) []*batch {
	var all []*batch
	byARN := map[string]*batch{}
	for i := range records {
		r := &records[i]
		b := byARN[r.EventSourceARN]
		if b == nil {
			b = &batch{queueARN: r.EventSourceARN}
			byARN[r.EventSourceARN], all = b, append(all, b)
		}
		b.deliveries = append(b.deliveries, delivery(r))
	}
	return all
}

// delivery is the record as the port knows it. Where attributes are absent or strange it is the
// first delivery, sent at an unknown time: nothing depends on them but what people read.
func delivery(r *events.SQSMessage) port.Delivery {
	d := port.Delivery{Message: port.Message{Body: []byte(r.Body)}, ID: r.MessageId, Receipt: r.ReceiptHandle, Received: 1, Sender: r.Attributes["SenderId"]}
	if n, err := strconv.Atoi(r.Attributes["ApproximateReceiveCount"]); err == nil {
		d.Received = n
	}
	if ms, err := strconv.ParseInt(r.Attributes["SentTimestamp"], 10, 64); err == nil {
		d.SentAt = time.UnixMilli(ms).UTC()
	}
	return d
}

func (b *batch) handle(ctx context.Context, handle Handle, log *slog.Logger) []string {
	failed, err := b.guarded(ctx, handle, b.deliveries)
	if err == nil {
		return failed
	}
	log.ErrorContext(ctx, "handling a batch panicked; trying its messages one by one", "queue", b.queueARN, "messages", len(b.deliveries), "error", err)
	failed = nil
	for i := range b.deliveries {
		d := b.deliveries[i : i+1]
		d[0].Received = max(d[0].Received, 1) + 1 // it may have been handled before (P12a)
		again, err := b.guarded(ctx, handle, d)
		if err != nil {
			log.ErrorContext(ctx, "handling a message panicked; it is given back", "queue", b.queueARN, "messageId", d[0].ID, "error", err)
			again = []string{d[0].Receipt}
		}
		failed = append(failed, again...)
	}
	return failed
}

func (b *batch) guarded(ctx context.Context, handle Handle, deliveries []port.Delivery) (failed []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return handle(ctx, b.queueARN, deliveries), nil
}
