// Command bootstrap is the Scheduler on Lambda.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/functions/internal/cloud"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func main() { cloud.Main("Scheduler", newFunction) }

// newFunction reads the settings, makes the clients and returns the handler for Lambda. It makes no network calls.
// The handler writes metrics to the writer out, as lines of the log. The error lists all faults.
func newFunction(lookup deployment.Lookup, out io.Writer, log *slog.Logger) (lambdaevent.Function, error) {
	settings, err := deployment.ReadScheduler(lookup)
	c, errClient := wire.Environment(lookup)
	workflows, errWorkflows := cloud.Workflows(settings.Workflows)
	if err := errors.Join(err, errClient, errWorkflows); err != nil {
		return nil, err
	}
	own := cloud.Open(c, lookup, settings.Engine, workflows, out, log)
	parts := own.Parts
	parts.Count = func(what, why string) {
		log.Info("counted", "what", what, "why", why)
		if what == engine.StatusNotSent {
			own.Metrics.Count(deployment.MetricNotSent, deployment.MetricReplyTo, why)
		}
	}
	if settings.TokenKeys != "" {
		parts.Tokens = cloud.NewTokenKeys(c, settings.TokenKeys, parts.Clock).Read
	}
	parts.FairQueues = settings.FairQueues
	parts.Senders = settings.Senders
	config := scheduler.Config{Parts: parts, Priorities: settings.Priorities, Replied: func(ctx context.Context,
		r scheduler.Replied,
	) {
		// The code not-yet does not count, because the agent has called the service (P45, "not now" is not a failure).
		if r.Outcome == core.OutcomeRetryLater && core.Uncalled(r.Code) {
			own.Metrics.Count(deployment.MetricNotCalled, deployment.MetricAgent, r.Agent)
		}
		own.Incidents.Replied(ctx, r.Agent, r.Name, r.Reply, r.Uncalled)
	}}
	if len(settings.Capacity) > 0 {
		config.Capacity = func(agent string) int { return settings.Capacity[agent] }
	}
	s := scheduler.New(config)
	handle := func(ctx context.Context, queue string, deliveries []port.Delivery) (again []port.Extension) {
		for _, receipt := range s.Handle(ctx, queue, deliveries) {
			again = append(again, port.Extension{Receipt: receipt})
		}
		return again
	}
	batch := lambdaevent.Batch(handle, lambdaevent.Source{Queues: parts.Queues, URLs: settings.Queues},
		lambdaevent.Returned{Out: out, Deployment: settings.Stack, Function: deployment.FunctionScheduler}, log)
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		response, err := batch(ctx, event)
		own.End(ctx)
		return response, err
	}, nil
}
