// Package wiring puts the Supervisor together as it runs on Lambda: one sweep for each tick of the
// schedule (rule 16).
package wiring

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/internal/cloud"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// New reads the settings, and makes the clients once. It asks nobody. Metrics go to out, as lines
// of the log. The error lists all that is wrong.
func New(lookup deployment.Lookup, out io.Writer, log *slog.Logger) (Function, error) {
	settings, err := deployment.ReadSupervisor(lookup)
	c, errClient := wire.Environment(lookup, wire.Options{})
	if err := errors.Join(err, errClient); err != nil {
		return nil, err
	}
	engine := cloud.Open(c, settings.Engine, nil)
	s := supervisor.New(supervisor.Config{
		State: engine.State, Queues: engine.Queues, Alerts: engine.Alerts, Leases: engine.Leases, Clock: engine.Clock,
		Owner: settings.Instance, WakeSlack: cloud.WakeSlack, Logger: log,
		Capacity:      func(agent string) int { return settings.Capacity[agent] },
		PagesPerSweep: settings.PagesPerSweep, Interval: settings.SweepEvery,
	})
	tick := Tick{
		Sweep: s.Sweep, Now: engine.Clock.Now, Log: log,
		Report: func(r supervisor.Report, now time.Time) error { return writeMetrics(out, settings.Name, r, now) },
	}
	return tick.Run, nil
}
