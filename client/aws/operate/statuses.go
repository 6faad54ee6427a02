package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
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
	search := t.search(deployment.MetricNotSent, deployment.MetricReplyTo, "Sum", 3600)
	in := metricTimes(now.Add(-unsentWithin), now)
	const query = "MetricDataQueries.member.1."
	in.Set(query+"Id", "unsent")
	in.Set(query+"Expression", search)
	in.Set(query+"Period", "3600")
	in.Set(query+"Label", "${PROP('Dim."+deployment.MetricReplyTo+"')}")
	results, err := t.readMetrics(ctx, in)
	if err != nil {
		return []client.Check{client.NotChecked("statuses", err)}
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
			checks = append(checks, client.Checked(view.CheckReceiver+name, false,
				fmt.Sprintf("%s could not be sent within %s; the orders go on, and the statuses are sent again",
					view.Count(unsent[name], "status message"), unsentWithin),
				"see that its queue or bus exists, that it and its KMS key let the Scheduler send, and "+
					"that it is deployed as a reply-to; stepkeeper show says the reason of each order"))
		}
	}
	if len(checks) == 0 {
		checks = append(checks, client.Checked("statuses", true, "every status was sent within "+unsentWithin.String(), ""))
	}
	return checks
}
