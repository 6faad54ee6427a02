package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/stretchr/testify/require"
)

// With OutcomeMetrics the log group of the Scheduler gets the metrics of an order that ended. LocalStack keeps the
// line, but makes no metrics of it.
func TestOutcomesAreLogged(t *testing.T) {
	s := on(t, localstack)
	o := s.newOrder(t, "outcome").submit()
	o.notified("completed", soon)
	// LocalStack writes into this group whatever group the function names.
	group := "/aws/lambda/" + s.resources[s.logical(t, "Scheduler")]
	logs := cloudwatchlogs.NewFromConfig(s.config)
	var got struct {
		Deployment, Workflow, State string
		OrdersEnded                 int
	}
	o.until(soon, "line with its metrics", func() bool {
		found := must[*cloudwatchlogs.FilterLogEventsOutput](t)(logs.FilterLogEvents(t.Context(),
			&cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group}))
		for _, e := range found.Events {
			if strings.Contains(*e.Message, `"_aws"`) && strings.Contains(*e.Message, `"outcome"`) {
				require.NoError(t, json.Unmarshal([]byte(*e.Message), &got))
			}
		}
		return got.Workflow == "outcome"
	})
	require.True(t, strings.HasPrefix(got.Deployment, s.assembly.Stack), "%+v", got)
	require.Equal(t, "Processed", got.State)
	require.Equal(t, 1, got.OrdersEnded)
}
