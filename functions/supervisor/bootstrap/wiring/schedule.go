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

// Function is what package lambda starts. What the schedule says in its event does not matter.
type Function func(ctx context.Context, event json.RawMessage) error

// tick is the schedule's: EventBridge knows no shorter one.
const tick = time.Minute

// Schedule sweeps several times within one tick. All fields are required but Every: 0 is once.
type Schedule struct {
	Sweep  func(ctx context.Context) (supervisor.Report, error)
	Every  time.Duration
	Now    func() time.Time
	Wait   func(ctx context.Context, d time.Duration) // ends early with the context
	Report func(r supervisor.Report, now time.Time) error
	Log    *slog.Logger
}

// Run sweeps for one tick of the schedule: at its beginning, and again after Every, as long as the
// sweep begins before the next tick. Its error, which makes Lambda try the tick again, joins those
// of the sweeps.
func (s Schedule) Run(ctx context.Context, _ json.RawMessage) error {
	ctx, cancel := lambdaevent.WithReserve(ctx)
	defer cancel()
	began := s.Now()
	var errs []error
	for n := 0; ; n++ {
		errs = append(errs, s.once(ctx))
		next := began.Add(time.Duration(n+1) * s.Every)
		if s.Every <= 0 || !next.Before(began.Add(tick)) {
			break
		}
		if end, bounded := ctx.Deadline(); bounded && !next.Before(end) {
			break
		}
		if d := next.Sub(s.Now()); d > 0 {
			s.Wait(ctx, d)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (s Schedule) once(ctx context.Context) error {
	report, err := s.Sweep(ctx)
	if err != nil {
		s.Log.ErrorContext(ctx, "a sweep failed in part; what it left is due at the next one", "error", err)
	}
	if report.Overdue > 0 || report.Failed > 0 || report.Truncated {
		s.Log.InfoContext(ctx, "swept", "report", report.String(), "truncated", report.Truncated)
	}
	return errors.Join(err, s.Report(report, s.Now()))
}
