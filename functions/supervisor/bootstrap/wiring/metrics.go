package wiring

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// writeMetrics writes a sweep's metrics in CloudWatch's embedded format: a line of the log, which
// needs no call and no grant. Only what an alarm looks at is a metric, because each one is billed;
// the other figures stand beside it for people.
func writeMetrics(out io.Writer, name string, r supervisor.Report, now time.Time) error {
	line, err := json.Marshal(map[string]any{
		"_aws": map[string]any{
			"Timestamp": now.UnixMilli(),
			"CloudWatchMetrics": []any{map[string]any{
				"Namespace": deployment.MetricNamespace, "Dimensions": [][]string{{deployment.MetricDeployment}},
				"Metrics": []any{map[string]string{"Name": deployment.MetricOldestOverdue, "Unit": "Seconds"}},
			}},
		},
		deployment.MetricDeployment:    name,
		deployment.MetricOldestOverdue: r.OldestOverdue.Seconds(),
		"Scanned":                      r.Scanned, "HandedBack": r.HandedBack + r.Uncounted, "Failed": r.Failed,
	})
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("metrics of a sweep: %w", err)
	}
	return nil
}
