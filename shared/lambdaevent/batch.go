package lambdaevent

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Reserve is the time between the end of a handler's context and Lambda's own deadline. In this time, the
// function returns unfinished messages to the queue and writes to the log. Rule 3 of
// docs/reference/aws-rules.md requires the reserve.
const Reserve = 2 * time.Second

// Handle handles deliveries from the queue with this logical name. It returns the deliveries that must come again, and
// after which time: 0 means port.Delivery.Backoff, which grows with each delivery. Lambda deletes all other messages.
type Handle func(ctx context.Context, queue string, deliveries []port.Delivery) (again []port.Extension)

// Source holds the queues of a deployment.
type Source struct {
	Queues port.Queues
	URLs   map[string]string // URLs by logical name
}

// batch returns the deliveries of an event. Its queue is nil if the deployment does not have it.
func (s Source) batch(event events.SQSEvent) (b batch, err error) {
	for i := range event.Records {
		b.deliveries = append(b.deliveries, delivery(&event.Records[i]))
	}
	if len(b.deliveries) > 0 {
		b.name, err = deployment.QueueOf(s.URLs, event.Records[0].EventSourceARN)
	}
	if b.name != "" {
		b.queue, err = s.Queues.Queue(b.name)
	}
	return b, err
}

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
// time of their own: a handler that sets a wait has understood the message.
//
// All messages of an event come from one queue. If the deployment does not have it, all are returned: the event source
// mapping is wrong, but the messages may be right.
func Batch(handle Handle, source Source, returned Returned, log *slog.Logger) Function {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		visibility := visibilityOf(ctx)
		ctx, cancel := WithReserve(ctx)
		defer cancel()
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		b, err := source.batch(event)
		if err != nil {
			log.ErrorContext(ctx, "messages are returned to the queue", "messages", len(b.deliveries), "error", err)
		}
		again := map[string]time.Duration{}
		for _, e := range b.handle(ctx, handle, err, log) {
			again[e.Receipt] = e.For
		}
		unhandled := 0
		var back []port.Extension
		for i := range b.deliveries {
			d := &b.deliveries[i]
			after, failed := again[d.Receipt]
			if !failed {
				continue
			}
			answer.BatchItemFailures = append(answer.BatchItemFailures,
				events.SQSBatchItemFailure{ItemIdentifier: d.ID})
			if after <= 0 {
				after = d.Backoff(visibility)
				unhandled++
			}
			back = append(back, port.Extension{Receipt: d.Receipt, For: min(after, port.MaxVisibility)})
		}
		b.nack(ctx, back, log)
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
func (b *batch) nack(ctx context.Context, back []port.Extension, log *slog.Logger) {
	if len(back) == 0 || b.queue == nil {
		return
	}
	limit := Reserve / 2
	if deadline, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(deadline.Add(Reserve-answerTime)))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var err error
	for _, failed := range b.queue.Extend(ctx, back) {
		if failed != nil && !errors.Is(failed, port.ErrReceipt) {
			err = failed
		}
	}
	if err != nil {
		log.WarnContext(ctx,
			"messages that are returned to the queue come again only when their "+
				"visibility timeout has passed", "queue", b.name, "messages", len(back), "error", err)
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

type batch struct {
	name       string // logical name of the queue
	queue      port.Queue
	deliveries []port.Delivery
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

// All returns all deliveries to their queue.
func All(deliveries []port.Delivery) (again []port.Extension) {
	for i := range deliveries {
		again = append(again, port.Extension{Receipt: deliveries[i].Receipt})
	}
	return again
}

func (b *batch) handle(ctx context.Context, handle Handle, unknown error, log *slog.Logger) []port.Extension {
	if unknown != nil || len(b.deliveries) == 0 {
		return All(b.deliveries)
	}
	failed, err := b.guarded(ctx, handle, b.deliveries, log)
	if err == nil {
		return failed
	}
	log.ErrorContext(ctx, "handling a batch panicked; trying its messages one by one", "queue", b.name,
		"messages", len(b.deliveries), "error", err)
	failed = nil
	for i := range b.deliveries {
		d := b.deliveries[i : i+1]
		d[0].Received = max(d[0].Received, 1) + 1 // the panicked call may have handled the message (P12a)
		again, err := b.guarded(ctx, handle, d, log)
		if err != nil {
			log.ErrorContext(ctx, "handling a message panicked; it is returned to the queue", "queue",
				b.name, "messageId", d[0].ID, "error", err)
			again = All(d)
		}
		failed = append(failed, again...)
	}
	return failed
}

func (b *batch) guarded(ctx context.Context, handle Handle, deliveries []port.Delivery,
	log *slog.Logger,
) (again []port.Extension, err error) {
	err = port.Guard(log, "handling messages", func() error {
		again = handle(ctx, b.name, deliveries)
		return nil
	})
	return again, err
}
