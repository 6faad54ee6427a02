package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
)

// writeMetrics writes the metrics of a sweep as log lines. Only numbers that an alarm or the dashboard uses
// are metrics, because AWS bills each metric. The other numbers are in the log line for people. Each workflow
// with orders in Error has a separate line.
func writeMetrics(out io.Writer, name string, r supervisor.Report, now time.Time) error {
	err := lambdaevent.WriteMetrics(out, now, []string{deployment.MetricDeployment},
		map[string]string{deployment.MetricOldestOverdue: "Seconds"}, map[string]any{
			deployment.MetricDeployment:    name,
			deployment.MetricOldestOverdue: r.OldestOverdue.Seconds(),
			"Scanned":                      r.Scanned, "HandedBack": r.HandedBack + r.Uncounted,
			"Failed": r.Failed,
		})
	// Failed does not count damaged orders, because they say nothing about this version of the Supervisor.
	returned := lambdaevent.Returned{Out: out, Deployment: name, Function: deployment.FunctionSupervisor}
	err = errors.Join(err, returned.Write(now, r.Failed))
	for _, workflow := range slices.Sorted(maps.Keys(r.InError)) {
		err = errors.Join(err, lambdaevent.WriteMetrics(out, now,
			[]string{deployment.MetricDeployment, deployment.MetricWorkflow},
			map[string]string{deployment.MetricInError: "Count", deployment.MetricOldestInError: "Seconds"},
			map[string]any{
				deployment.MetricDeployment: name, deployment.MetricWorkflow: workflow,
				deployment.MetricInError:       r.InError[workflow].Orders,
				deployment.MetricOldestInError: r.InError[workflow].Oldest.Seconds(),
			}))
	}
	if err != nil {
		return fmt.Errorf("metrics of a sweep: %w", err)
	}
	return nil
}
