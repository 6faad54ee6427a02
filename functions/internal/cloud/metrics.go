package cloud

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
	fields map[string]any) error {
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
