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

// Reserve is the time between the end of a handler's context and Lambda's own deadline. In this time, the
// function returns unfinished messages to the queue and writes to the log. Rule 3 of
// docs/reference/aws-rules.md requires the reserve.
const Reserve = 2 * time.Second

// Handle handles deliveries from the queue with this ARN. It returns the deliveries that must be delivered
// again. Lambda deletes all other messages.
type Handle func(ctx context.Context, queueARN string, deliveries []port.Delivery) (failed []Failed)

// Failed is a delivery whose message must be delivered again.
type Failed struct {
	Receipt string
	// After is the delay before the next delivery. 0 means port.Delivery.Backoff, which grows with each
	// delivery.
	After time.Duration
}

// Queue returns the queue with this ARN. It returns an error for a queue that does not belong to the
// deployment.
type Queue func(queueARN string) (port.Queue, error)

// Function handles an SQS event. lambda.Start accepts a Function.
type Function func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error)

// Batch returns a Function that calls handle. The error of the Function is always nil. After an error, Lambda
// would deliver the whole batch again, including the handled messages (rule 2, partial batches).
//
// If handle panics, the Function calls handle again for each delivery alone. A delivery whose second call
// panics counts as failed. Therefore the effects of handle must be safe to repeat (P12, effects are emitted
// again).
//
// The Function shortens the visibility timeout of each failed message (rule 30, unfinished messages are
// returned). The queue's own timeout is at least six times the timeout of the function. During this time, the
// step of the message could become overdue. The metric returned counts these messages, except those with a
// Failed.After: a handler that sets a wait has understood the message.
func Batch(handle Handle, queue Queue, returned Returned, log *slog.Logger) Function {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		visibility := visibilityOf(ctx)
		ctx, cancel := WithReserve(ctx)
		defer cancel()
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		unhandled := 0
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
					unhandled++
				}
				back = append(back, port.Extension{Receipt: d.Receipt, For: min(f.After, port.MaxVisibility)})
			}
			b.nack(ctx, queue, back, log)
		}
		if err := returned.Write(time.Now(), unhandled); err != nil {
			log.ErrorContext(ctx, "the metric of returned messages could not be written", "messages",
				unhandled, "error", err)
		}
		return answer, nil
	}
}

// noDeadline is the visibility timeout if the context has no deadline, as in a test.
const noDeadline = 3 * time.Minute

// visibilityOf returns six times the function's timeout. The queues of the function have at least this
// visibility timeout (rule 3, visibility timeouts). The function's timeout is the time until the deadline,
// because the invocation has just begun.
func visibilityOf(ctx context.Context) time.Duration {
	if deadline, bounded := ctx.Deadline(); bounded {
		return min(6*max(time.Until(deadline), 0), port.MaxVisibility)
	}
	return noDeadline
}

// answerTime is the end of Reserve, in which the function writes to the log and answers Lambda.
const answerTime = Reserve / 20

// nack changes the visibility timeouts of failed messages. It has its own time limit within Reserve, because
// ctx may have ended, and ends before answerTime, however long the handler has taken.
func (b *batch) nack(ctx context.Context, queue Queue, back []port.Extension, log *slog.Logger) {
	if len(back) == 0 {
		return
	}
	limit := Reserve / 2
	if deadline, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(deadline.Add(Reserve-answerTime)))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	q, err := queue(b.queueARN)
	if err == nil {
		for _, failed := range q.Extend(ctx, back) {
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

// WithReserve returns a context that ends Reserve before the deadline of ctx. If ctx has no deadline, the
// returned context has no deadline either.
func WithReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-Reserve))
}

// batch contains the deliveries from one queue. An event from Lambda contains only messages from one queue. A
// test event may contain messages from several queues.
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
			byARN[r.EventSourceARN] = b
			all = append(all, b)
		}
		b.deliveries = append(b.deliveries, delivery(r))
	}
	return all
}

// delivery converts an SQS record to a port.Delivery. A record without a valid receive count counts as a
// first delivery. The Scheduler does not emit effects again for a first delivery (P12a, who emits again). If
// effects are missing, the Supervisor repairs this when the task is due (P9, tasks not at rest are due).
func delivery(r *events.SQSMessage) port.Delivery {
	d := port.Delivery{
		Message: port.Message{Body: []byte(r.Body)}, ID: r.MessageId, Receipt: r.ReceiptHandle,
		Received: 1, Sender: r.Attributes["SenderId"],
	}
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
		d[0].Received = max(d[0].Received, 1) + 1 // the panicked call may have handled the message (P12a)
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

func (b *batch) guarded(ctx context.Context, handle Handle, deliveries []port.Delivery,
	log *slog.Logger,
) (failed []Failed, err error) {
	err = port.Guard(log, "handling messages", func() error {
		failed = handle(ctx, b.queueARN, deliveries)
		return nil
	})
	return failed, err
}
