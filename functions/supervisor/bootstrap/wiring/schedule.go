package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
)

// Function is the handler for package lambda. It ignores the content of the schedule's event.
type Function func(ctx context.Context, event json.RawMessage) error

// Tick handles an invocation by the schedule. All fields are required.
type Tick struct {
	Sweep  func(ctx context.Context) (supervisor.Report, error)
	Now    func() time.Time
	Report func(r supervisor.Report, now time.Time) error
	Log    *slog.Logger
}

// Run sweeps once. If Run returns an error, Lambda repeats the invocation.
func (t Tick) Run(ctx context.Context, _ json.RawMessage) error {
	ctx, cancel := lambdaevent.WithReserve(ctx)
	defer cancel()
	report, err := t.Sweep(ctx)
	if err != nil {
		t.Log.ErrorContext(ctx, "a sweep failed in part; what it left is due at the next one", "error", err)
	}
	if report.Overdue > 0 || report.Failed > 0 || report.Truncated {
		t.Log.InfoContext(ctx, "swept", "report", report.String(), "truncated", report.Truncated)
	}
	return errors.Join(err, t.Report(report, t.Now()))
}
