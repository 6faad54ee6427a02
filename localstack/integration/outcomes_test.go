package integration

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/stretchr/testify/require"
)

// outcome is a line with the metrics of ended orders.
type outcome struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
	Deployment, Workflow, State string
	OrdersEnded                 int
	OrderDuration               []int64
}

// With OutcomeMetrics the log group of the Scheduler gets the metrics of an order that ended, as
// docs/reference/metrics.md describes them. LocalStack keeps the line, but makes no
// metrics of it.
func TestOutcomesAreLogged(t *testing.T) {
	s := on(t, localstack)
	o := s.newOrder(t, "outcome").submit()
	o.notified("completed", soon)
	// LocalStack writes into this group whatever group the function names.
	group := "/aws/lambda/" + s.resources[s.logical(t, "Scheduler")]
	logs := cloudwatchlogs.NewFromConfig(s.config)
	var got outcome
	o.until(soon, "line with its metrics", func() bool {
		found := must[*cloudwatchlogs.FilterLogEventsOutput](t)(logs.FilterLogEvents(t.Context(),
			&cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group}))
		for _, e := range found.Events {
			if strings.Contains(*e.Message, `"_aws"`) {
				require.NoError(t, json.Unmarshal([]byte(*e.Message), &got))
			}
			if got.Workflow == "outcome" {
				return true
			}
		}
		return false
	})
	require.Equal(t, "outcome", got.Workflow)
	require.Equal(t, "Processed", got.State)
	require.Equal(t, 1, got.OrdersEnded)
	require.True(t, strings.HasPrefix(got.Deployment, s.assembly.Stack), "%+v", got)
	require.Len(t, got.OrderDuration, 1)
	age := time.Since(time.UnixMilli(got.AWS.Timestamp))
	require.GreaterOrEqual(t, age, time.Duration(0))
	require.LessOrEqual(t, age, longest)
	want := []struct{ Name, Unit string }{{"OrderDuration", "Milliseconds"}, {"OrdersEnded", "Count"}}
	dimensions := [][]string{{"Deployment", "Workflow", "State"}}
	m := got.AWS.CloudWatchMetrics
	require.Len(t, m, 1)
	require.Equal(t, "Stepkeeper", m[0].Namespace)
	require.Equal(t, dimensions, m[0].Dimensions)
	require.Equal(t, want, m[0].Metrics)
}
