// Package onlambda runs an agent on Lambda. Requests come as SQS events, and the agent handles the requests
// of an event concurrently. Replies go to the queue of replies. If a reply cannot be sent, the request
// returns to its queue. A business failure is a reply, never a failure of the batch (rule 2 of
// docs/reference/aws-rules.md).
package onlambda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// New reads the settings, makes the clients and returns the handler for Lambda. It makes no network calls
// (rule 13 of docs/reference/aws-rules.md). The caller sets the agent's name, operations, retry and breaker.
// If agent.Ledger is nil and the deployment has a ledger table, the worker uses the table. The error lists
// all faults.
//
// The handler writes metrics to the writer out, as lines of the log.
func New(lookup deployment.Lookup, agent worker.Config, out io.Writer,
	log *slog.Logger,
) (lambdaevent.Function, error) {
	settings, err := deployment.ReadAgent(lookup, false)
	c, errClient := wire.Environment(lookup)
	if settings.Name != "" && agent.Agent != settings.Name {
		err = errors.Join(err,
			fmt.Errorf("the program is agent %q, and was deployed as agent %q; give both the same name",
				agent.Agent, settings.Name))
	}
	if err := errors.Join(err, errClient, agent.Operations.Validate(),
		worker.Validate(agent.Retry, agent.Breaker)); err != nil {
		return nil, err
	}
	w, err := NewWorker(c, settings, agent, log)
	if err != nil {
		return nil, err
	}
	get := func(context.Context) (*worker.Worker, error) { return w, nil }
	return Function(c, settings, get, out, log), nil
}

// NewWorker returns a worker with the deployment's queues. If agent.Ledger is nil and the deployment has a
// ledger table, the worker uses the table (P31, a plain service needs a ledger).
func NewWorker(c aws.Config, settings deployment.Agent, agent worker.Config,
	log *slog.Logger,
) (*worker.Worker, error) {
	queues := sqs.New(c, sqs.Config{URLs: settings.Queues})
	replies, err := queues.Queue(port.Replies)
	quarantine, errQuarantine := queues.Queue(port.Quarantine)
	if err := errors.Join(err, errQuarantine); err != nil {
		return nil, err
	}
	agent.Quarantine = quarantine
	if agent.Replies == nil {
		agent.Replies = replies
	}
	agent.Linger = linger
	agent.Clock = port.ClockFunc(time.Now)
	agent.Log = log
	agent.SendTimeout = sendTimeout
	if agent.Ledger == nil && settings.Ledger != "" {
		agent.Ledger = dynamo.NewLedger(dynamo.NewLedgerClient(c), settings.Ledger)
	}
	return worker.New(agent)
}

// sendTimeout is the time limit for sending a reply. lambdaevent.Reserve is the time between the end
// of a handler's context and the end of the invocation. sendTimeout is shorter, so the worker can write
// to the ledger and send a reply even after the context has ended, and package lambdaevent can still return
// requests.
const sendTimeout = lambdaevent.Reserve * 3 / 4

// linger is how long a reply waits for other replies of its batch. One call to SQS with several
// replies costs less than separate calls.
const linger = 50 * time.Millisecond

// Function returns the handler for package lambda. It handles the requests of a batch concurrently. The argument get
// returns the worker. If get fails, all requests return to the queue. They come again after a wait that grows with
// each receive. The handler writes the metric of returned requests to the writer out.
func Function(c aws.Config, settings deployment.Agent, get func(ctx context.Context) (*worker.Worker, error),
	out io.Writer, log *slog.Logger,
) lambdaevent.Function {
	handle := func(ctx context.Context, _ string, deliveries []port.Delivery) []port.Extension {
		w, err := get(ctx)
		if err != nil {
			log.ErrorContext(ctx,
				"the agent is not ready; its requests are returned to the queue and come again in some "+
					"seconds", "messages", len(deliveries), "error", err)
			return lambdaevent.All(deliveries)
		}
		return w.Batch(ctx, deliveries)
	}
	returned := lambdaevent.Returned{Out: out, Deployment: settings.Stack, Function: settings.Name}
	source := lambdaevent.Source{Queues: sqs.New(c, sqs.Config{URLs: settings.Queues}), URLs: settings.Queues}
	return lambdaevent.Batch(handle, source, returned, log)
}
