package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// unsentWithin is how far back the check of statuses reads. An undelivered status is sent again at least once
// in this time.
const unsentWithin = 2 * time.Hour

// checkStatuses finds the reply-to names whose statuses could not be sent (P12b, a status delays nothing else).
func (t *transport) checkStatuses(ctx context.Context) []client.Check {
	if t.aws == nil || t.Outputs.Deployment == "" {
		return nil
	}
	now := time.Now()
	search := fmt.Sprintf(`SEARCH('{%s,%s,%s} %s="%s" MetricName="%s"', 'Sum', 3600)`,
		deployment.MetricNamespace, deployment.MetricDeployment, deployment.MetricReplyTo,
		deployment.MetricDeployment, t.Outputs.Deployment, deployment.MetricNotSent)
	in := metricTimes(now.Add(-unsentWithin), now)
	const query = "MetricDataQueries.member.1."
	in.Set(query+"Id", "unsent")
	in.Set(query+"Expression", search)
	in.Set(query+"Period", "3600")
	in.Set(query+"Label", "${PROP('Dim."+deployment.MetricReplyTo+"')}")
	results, err := readMetrics(ctx, t.aws.metrics, in)
	if err != nil {
		return []client.Check{client.NotChecked("statuses", aws.Failed(ctx,
			aws.Use{Action: "cloudwatch:GetMetricData", On: "metrics", Policy: t.Outputs.Operator}, err))}
	}
	unsent := map[string]int{}
	for _, r := range results {
		for _, n := range r.Values {
			unsent[r.Label] += int(n)
		}
	}
	var checks []client.Check
	for _, name := range slices.Sorted(maps.Keys(unsent)) {
		if unsent[name] > 0 {
			checks = append(checks, client.Check{
				Name: view.CheckReceiver + name, Result: client.CheckFailed,
				Text: fmt.Sprintf("%s could not be sent within %s; the orders go on, and the statuses are "+
					"sent again", view.Count(unsent[name], "status message"), unsentWithin),
				Fix: "see that its queue or bus exists, that it and its KMS key let the Scheduler send, and " +
					"that it is deployed as a reply-to; stepkeeper show says the reason of each order",
			})
		}
	}
	if len(checks) == 0 {
		checks = append(checks, client.Check{
			Name: "statuses", Result: client.CheckOK,
			Text: fmt.Sprintf("every status was sent within %s", unsentWithin),
		})
	}
	return checks
}
