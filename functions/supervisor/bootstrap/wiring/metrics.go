package wiring

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// writeMetrics writes a sweep's metrics in CloudWatch's embedded format: lines of the log, which need no call
// and no grant. Only what an alarm or the dashboard shows is a metric, because each one is billed; the other
// figures stand beside it for people. Of orders in Error there is a line for each workflow that has any.
func writeMetrics(out io.Writer, name string, r supervisor.Report, now time.Time) error {
	lines := []map[string]any{embedded(now, []string{deployment.MetricDeployment},
		map[string]string{deployment.MetricOldestOverdue: "Seconds"}, map[string]any{
			deployment.MetricDeployment:    name,
			deployment.MetricOldestOverdue: r.OldestOverdue.Seconds(),
			"Scanned":                      r.Scanned, "HandedBack": r.HandedBack + r.Uncounted,
			"Failed": r.Failed,
		})}
	for _, workflow := range slices.Sorted(maps.Keys(r.InError)) {
		lines = append(lines, embedded(now, []string{deployment.MetricDeployment, deployment.MetricWorkflow},
			map[string]string{deployment.MetricInError: "Count", deployment.MetricOldestInError: "Seconds"},
			map[string]any{
				deployment.MetricDeployment: name, deployment.MetricWorkflow: workflow,
				deployment.MetricInError:       r.InError[workflow].Orders,
				deployment.MetricOldestInError: r.InError[workflow].Oldest.Seconds(),
			}))
	}
	for _, fields := range lines {
		line, err := json.Marshal(fields)
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			return fmt.Errorf("metrics of a sweep: %w", err)
		}
	}
	return nil
}

// embedded adds to the fields what says which of them are metrics, of which units.
func embedded(now time.Time, dimensions []string, units map[string]string,
	fields map[string]any) map[string]any {
	metrics := []map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		metrics = append(metrics, map[string]string{"Name": name, "Unit": units[name]})
	}
	fields["_aws"] = map[string]any{
		"Timestamp": now.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": deployment.MetricNamespace, "Dimensions": [][]string{dimensions}, "Metrics": metrics,
		}},
	}
	return fields
}
