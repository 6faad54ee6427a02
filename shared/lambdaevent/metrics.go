package lambdaevent

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// WriteMetrics writes a log line in CloudWatch's embedded metric format. This needs no network call and no
// permission. Each field with an entry in units is a metric. The other fields are only part of the log line.
func WriteMetrics(out io.Writer, now time.Time, dimensions []string, units map[string]string,
	fields map[string]any,
) error {
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
	line, err := json.Marshal(fields)
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	return err
}

// Returned writes the metric of messages that a function could not handle and returned to their queue. A new
// version that returns every message is broken, and Lambda's own metric of errors does not show it, because a
// partial failure of a batch is not an error. The zero value writes nothing.
type Returned struct {
	Out io.Writer // where the function writes the lines of its log
	// Deployment and Function are the dimensions: the name of the deployment, and scheduler, supervisor or the
	// name of the agent.
	Deployment, Function string
}

// Write writes the metric. A function writes no zero, because AWS bills each metric.
func (r Returned) Write(now time.Time, n int) error {
	if n == 0 || r.Out == nil || r.Deployment == "" {
		return nil
	}
	return WriteMetrics(r.Out, now, []string{deployment.MetricDeployment, deployment.MetricFunction},
		map[string]string{deployment.MetricReturned: "Count"}, map[string]any{
			deployment.MetricDeployment: r.Deployment, deployment.MetricFunction: r.Function,
			deployment.MetricReturned: n,
		})
}
