// Package wiring assembles the Supervisor for Lambda. A schedule invokes the Supervisor, and each invocation
// sweeps once (rule 16 of docs/reference/aws-rules.md).
package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/internal/cloud"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/tracing"
)

// New reads the settings, makes the clients and returns the handler for Lambda. It makes no network calls.
// The handler writes metrics to the writer out, as lines of the log. The error lists all faults.
func New(lookup deployment.Lookup, out io.Writer, log *slog.Logger) (Function, error) {
	settings, err := deployment.ReadSupervisor(lookup)
	c, errClient := wire.Environment(lookup)
	if err := errors.Join(err, errClient); err != nil {
		return nil, err
	}
	scheduled, err := cloud.Scheduled(settings.Workflows)
	if err != nil {
		return nil, err
	}
	engine, alerts, outcomes := cloud.Open(c, settings.Engine, nil, out, log)
	tracer := tracing.OfFunction(lookup, settings.Stack, log)
	if tracer != nil {
		engine.Tracer = tracer
	}
	s := supervisor.New(supervisor.Config{
		Parts: engine, Capacity: func(agent string) int { return settings.Capacity[agent] },
		PagesPerSweep: settings.PagesPerSweep, Interval: settings.SweepEvery, Incidents: alerts.Sweep,
		Outages: alerts.Outages, Woken: alerts.Woken,
		Schedules: supervisor.Schedules{
			Current: func() []*core.Definition { return scheduled },
			Records: dynamo.New(dynamo.NewHandlerClient(c), dynamo.Tables{Orders: settings.Orders},
				dynamo.Options{}).Schedules(),
			Submit: func(ctx context.Context, orders []message.SubmitOrder) []error {
				return submit(ctx, engine.Queues, orders)
			},
		},
	})
	tick := Tick{
		Sweep: s.Sweep, Now: engine.Clock.Now, Log: log,
		Report: func(r supervisor.Report, now time.Time) error {
			return writeMetrics(out, settings.Stack, r, now)
		},
	}
	return func(ctx context.Context, event json.RawMessage) error {
		err := tick.Run(ctx, event)
		outcomes.Write()
		alerts.Wait(ctx)
		tracer.Flush(ctx)
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
