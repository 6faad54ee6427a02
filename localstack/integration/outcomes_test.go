package integration

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
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
				if err := json.Unmarshal([]byte(*e.Message), &got); err != nil {
					t.Fatalf("%s: %v", *e.Message, err)
				}
			}
			if got.Workflow == "outcome" {
				return true
			}
		}
		return false
	})
	if got.Workflow != "outcome" || got.State != "Processed" || got.OrdersEnded != 1 ||
		!strings.HasPrefix(got.Deployment, s.assembly.Stack) || len(got.OrderDuration) != 1 {
		t.Errorf("%+v", got)
	}
	if age := time.Since(time.UnixMilli(got.AWS.Timestamp)); age < 0 || age > longest {
		t.Errorf("its timestamp is %s old", age)
	}
	want := []struct{ Name, Unit string }{{"OrderDuration", "Milliseconds"}, {"OrdersEnded", "Count"}}
	dimensions := [][]string{{"Deployment", "Workflow", "State"}}
	if m := got.AWS.CloudWatchMetrics; len(m) != 1 || m[0].Namespace != "Stepkeeper" ||
		!reflect.DeepEqual(m[0].Dimensions, dimensions) || !reflect.DeepEqual(m[0].Metrics, want) {
		t.Errorf("%+v", m)
	}
}
