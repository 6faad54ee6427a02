package lambdaevent

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Reserve is the time between the end of a handler's context and Lambda's own deadline. In this time the
// handler returns unfinished messages and writes a last line to the log (rule 3).
const Reserve = 2 * time.Second

// Handle handles deliveries of one queue, identified by its ARN. It returns the deliveries that must come
// again. The others are deleted.
type Handle func(ctx context.Context, queueARN string, deliveries []port.Delivery) (failed []Failed)

// Failed is a delivery that must come again.
type Failed struct {
	Receipt string
	// After is the wait before the delivery comes again; 0 means a wait that grows with each delivery
	// (port.Delivery.Backoff).
	After time.Duration
}

// Queue finds the queue that an event came from. It returns an error if the queue is not the deployment's.
type Queue func(queueARN string) (port.Queue, error)

// Function handles an SQS event. Package lambda starts it.
type Function func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error)

// Batch returns a Function of a Handle. The Function's error is always nil, because Lambda would repeat a
// failed batch with all its successful messages (rule 2).
//
// If handle panics, Batch passes the deliveries to it again, one by one. Only the deliveries that panic again
// come again. Whatever handle did before must be safe to repeat (P12, effects are emitted again).
//
// Batch returns failed messages to their queue. Otherwise they would stay hidden for the rest of the
// visibility timeout, six times the function's timeout, and their steps would be counted as failed (rule 30).
func Batch(handle Handle, queue Queue, log *slog.Logger) Function {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		visibility := visibilityOf(ctx)
		ctx, cancel := WithReserve(ctx)
		defer cancel()
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		for _, b := range batches(event.Records) {
			failed := map[string]Failed{}
			for _, f := range b.handle(ctx, handle, log) {
				failed[f.Receipt] = f
			}
			var back []port.Extension
			for i := range b.deliveries {
				d := &b.deliveries[i]
				f, again := failed[d.Receipt]
				if !again {
					continue
				}
				answer.BatchItemFailures = append(answer.BatchItemFailures,
					events.SQSBatchItemFailure{ItemIdentifier: d.ID})
				if f.After <= 0 {
					f.After = d.Backoff(visibility)
				}
				back = append(back, port.Extension{Receipt: d.Receipt, For: f.After})
			}
			b.nack(ctx, queue, back, log)
		}
		return answer, nil
	}
}

// noDeadline is the visibility timeout if Lambda's deadline is unknown, as in a test.
const noDeadline = 3 * time.Minute

// visibilityOf returns the visibility timeout of the function's queues: six times the function's timeout
// (rule 3). The timeout is the time until the deadline, because the invocation has just begun.
func visibilityOf(ctx context.Context) time.Duration {
	if deadline, bounded := ctx.Deadline(); bounded {
		return min(6*max(time.Until(deadline), 0), port.MaxVisibility)
	}
	return noDeadline
}

// nack makes deliveries come again at their times. It works within the reserve, because the handler's time
// may be over.
func (b *batch) nack(ctx context.Context, queue Queue, back []port.Extension, log *slog.Logger) {
	if len(back) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Reserve/2)
	defer cancel()
	q, err := queue(b.queueARN)
	if err == nil {
		for _, failed := range port.Extend(ctx, q, back) {
			if failed != nil && !errors.Is(failed, port.ErrReceipt) {
				err = failed
			}
		}
	}
	if err != nil {
		log.WarnContext(ctx,
			"messages that are returned to the queue come again only when their "+
				"visibility timeout has passed", "queue", b.queueARN, "messages", len(back), "error", err)
	}
}

// WithReserve returns a context that ends Reserve before the deadline. A context without a deadline stays
// unchanged.
func WithReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-Reserve))
}

// batch holds the deliveries of one queue in an event. Lambda never mixes queues in one event; an event
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

// delivery converts a record to a delivery of the port. Without a valid receive count it is a first delivery,
// for which the Scheduler emits no earlier effects again (P12a, who emits again). The sweep at the task's due
// time then sends lost effects (P9, tasks not at rest are due).
func delivery(r *events.SQSMessage) port.Delivery {
	d := port.Delivery{Message: port.Message{Body: []byte(r.Body)}, ID: r.MessageId, Receipt: r.ReceiptHandle,
		Received: 1, Sender: r.Attributes["SenderId"]}
	if n, err := strconv.Atoi(r.Attributes["ApproximateReceiveCount"]); err == nil {
		d.Received = n
	}
	if ms, err := strconv.ParseInt(r.Attributes["SentTimestamp"], 10, 64); err == nil {
		d.SentAt = time.UnixMilli(ms).UTC()
	}
	return d
}

func (b *batch) handle(ctx context.Context, handle Handle, log *slog.Logger) []Failed {
	failed, err := b.guarded(ctx, handle, b.deliveries, log)
	if err == nil {
		return failed
	}
	log.ErrorContext(ctx, "handling a batch panicked; trying its messages one by one", "queue", b.queueARN,
		"messages", len(b.deliveries), "error", err)
	failed = nil
	for i := range b.deliveries {
		d := b.deliveries[i : i+1]
		d[0].Received = max(d[0].Received, 1) + 1 // it may have been handled before (P12a)
		again, err := b.guarded(ctx, handle, d, log)
		if err != nil {
			log.ErrorContext(ctx, "handling a message panicked; it is returned to the queue", "queue",
				b.queueARN, "messageId", d[0].ID, "error", err)
			again = []Failed{{Receipt: d[0].Receipt}}
		}
		failed = append(failed, again...)
	}
	return failed
}

// guarded calls handle. It logs a panic and returns it as an error.
func (b *batch) guarded(ctx context.Context, handle Handle, deliveries []port.Delivery,
	log *slog.Logger) (failed []Failed, err error) {
	err = port.Guard(log, "handling messages", func() error {
		failed = handle(ctx, b.queueARN, deliveries)
		return nil
	})
	return failed, err
}
