// Command bootstrap is the Supervisor on Lambda.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"

	"github.com/stepkeeper/stepkeeper/functions/internal/cloud"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func main() { cloud.Main("Supervisor", newFunction) }

// function is the handler for package lambda. It sweeps once (rule 16 of docs/reference/aws-rules.md), and ignores the
// content of the schedule's event. After an error, Lambda repeats the invocation.
type function = func(ctx context.Context, event json.RawMessage) error

// newFunction reads the settings, makes the clients and returns the handler for Lambda. It makes no network calls.
// The handler writes metrics to the writer out, as lines of the log. The error lists all faults.
func newFunction(lookup deployment.Lookup, out io.Writer, log *slog.Logger) (function, error) {
	settings, err := deployment.ReadSupervisor(lookup)
	c, errClient := wire.Environment(lookup)
	scheduled, errWorkflows := cloud.Scheduled(settings.Workflows)
	if err := errors.Join(err, errClient, errWorkflows); err != nil {
		return nil, err
	}
	own := cloud.Open(c, lookup, settings.Engine, nil, out, log)
	s := supervisor.New(supervisor.Config{
		Parts: own.Parts, Capacity: func(agent string) int { return settings.Capacity[agent] },
		PagesPerSweep: settings.PagesPerSweep, Interval: settings.SweepEvery, Incidents: own.Incidents.Sweep,
		Outages: own.Incidents.Outages, Woken: own.Incidents.Woken,
		Schedules: supervisor.Schedules{
			Current: func() []*core.Definition { return scheduled },
			Records: dynamo.New(dynamo.NewHandlerClient(c), dynamo.Tables{Orders: settings.Orders},
				dynamo.Options{}).Schedules(),
			Submit: func(ctx context.Context, orders []message.SubmitOrder) []error {
				return submit(ctx, own.Queues, orders)
			},
		},
	})
	return func(ctx context.Context, _ json.RawMessage) error {
		sweeping, cancel := lambdaevent.WithReserve(ctx)
		defer cancel()
		report, err := s.Sweep(sweeping)
		if err != nil {
			log.ErrorContext(ctx, "a sweep failed in part; what it left is due at the next one", "error", err)
		}
		if report.Overdue > 0 || report.Failed > 0 || report.Truncated {
			log.InfoContext(ctx, "swept", "report", report.String(), "truncated", report.Truncated)
		}
		err = errors.Join(err, writeMetrics(out, settings.Stack, report, own.Clock.Now()))
		own.End(ctx)
		return err
	}, nil
}

func submit(ctx context.Context, queues port.Queues, orders []message.SubmitOrder) []error {
	errs := make([]error, len(orders))
	intake, err := queues.Queue(port.Intake)
	for i := range orders {
		errs[i] = err
		if err == nil {
			errs[i] = intake.Send(ctx, []port.Message{{Value: &orders[i]}})[0]
		}
	}
	return errs
}
