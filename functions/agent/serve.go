package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// Serve handles the requests of one agent until the context ends, then lets what is in hand come
// to its end, and answers nil. An error means that it could not start, or not drain. On Lambda it
// does not return.
func Serve(ctx context.Context, name string, operations Operations, options ...Option) (err error) {
	s := settings{log: slog.Default(), ledgerFolder: os.Getenv("STEPKEEPER_LEDGER")}
	for _, o := range options {
		o(&s)
	}
	onLambda := os.Getenv("AWS_LAMBDA_RUNTIME_API") != ""
	if s.ledger == nil && s.ledgerFolder != "" && !onLambda {
		store, err := sqlite.Open(ctx, s.ledgerFolder, sqlite.Options{})
		if err != nil {
			return fmt.Errorf("agent %q: opening its ledger: %w", name, err)
		}
		defer func() { _ = store.Close() }()
		s.ledger = store
	}
	w, err := s.worker(ctx, name, operations)
	if err != nil {
		return err
	}
	if s.stats != nil {
		defer func() { s.stats(w.Stats()) }()
	}
	if onLambda {
		w.SendTimeout = lambdaMargin * 3 / 4
		lambda.StartWithOptions(handler(w), lambda.WithContext(ctx))
		return nil
	}
	requests, err := s.queues.Queue(port.Requests(name))
	if err != nil {
		return fmt.Errorf("agent %q: its queue: %w", name, err)
	}
	s.log.Info("the agent takes requests", "agent", name, "queue", requests.Name(), "ledger", s.ledger != nil)
	pump := worker.Pump{Queue: requests, Worker: w, Concurrency: s.concurrency, Batch: s.batch, Drain: s.drain}
	return pump.Run(ctx)
}

// worker wires the engine to its queues.
func (s *settings) worker(ctx context.Context, name string, operations Operations) (*worker.Worker, error) {
	if s.queues == nil {
		var err error
		if s.queues, err = connect(ctx); err != nil {
			return nil, fmt.Errorf("agent %q: %w", name, err)
		}
	}
	clock := s.clock
	if clock == nil {
		clock = port.ClockFunc(time.Now)
	}
	replies, errReplies := s.queues.Queue(port.Replies)
	quarantine, errQuarantine := s.queues.Queue(port.Quarantine)
	if err := errors.Join(errReplies, errQuarantine); err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return worker.New(worker.Config{
		Agent: name, Operations: operations, Replies: replies, Quarantine: quarantine, Ledger: s.ledger,
		Clock: clock, Log: s.log, Retry: s.retry, Breaker: s.breaker,
	})
}

// connect finds the queues by the environment.
func connect(ctx context.Context) (port.Queues, error) {
	sdk, err := awsclient.Load(ctx, awsclient.Options{Endpoint: awsclient.Endpoint("sqs")})
	if err != nil {
		return nil, err
	}
	urls := map[string]string{}
	for name, variable := range map[string]string{port.Replies: "STEPKEEPER_REPLIES_URL", port.Quarantine: "STEPKEEPER_QUARANTINE_URL"} {
		if url := os.Getenv(variable); url != "" {
			urls[name] = url
		}
	}
	return sqs.New(sdk, sqs.Config{URLs: urls, Prefix: os.Getenv("STEPKEEPER_QUEUE_PREFIX"), LookUp: true}), nil
}

// lambdaMargin is how long before Lambda's own deadline a handler's context ends, so that what it
// knows by then can still be told.
const lambdaMargin = 2 * time.Second

// handler handles the messages of one invocation at the same time. Only what is to come again is
// reported; a failure of the business is a reply, never one of the batch.
func handler(w *worker.Worker) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		if end, bounded := ctx.Deadline(); bounded {
			var cancel func()
			ctx, cancel = context.WithDeadline(ctx, end.Add(-lambdaMargin))
			defer cancel()
		}
		deliveries := lambdaevent.Deliveries(e)
		var again []port.Delivery
		for i, v := range w.Batch(ctx, deliveries) {
			if !v.Delete {
				again = append(again, deliveries[i])
			}
		}
		return lambdaevent.Response(again), nil
	}
}
