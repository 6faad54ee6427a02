package operate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// watch replaces CloudWatch. It holds values of the minutes before the end, by metric, and returns pages of
// three metrics.
type watch struct {
	values map[string]map[int]float64
	labels map[string]string // label of the result, by name of the metric
	calls  atomic.Int32
	err    error
}

func (w *watch) GetMetricData(_ context.Context, in *cloudwatch.GetMetricDataInput,
	_ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
	w.calls.Add(1)
	if w.err != nil {
		return nil, w.err
	}
	first := 0
	if in.NextToken != nil {
		_, _ = fmt.Sscan(*in.NextToken, &first)
	}
	out := &cloudwatch.GetMetricDataOutput{}
	for i := first; i < len(in.MetricDataQueries); i++ {
		if i == first+3 {
			out.NextToken = sdk.String(fmt.Sprint(i))
			break
		}
		q := in.MetricDataQueries[i]
		name := sdk.ToString(q.Expression)
		if q.MetricStat != nil {
			name = *q.MetricStat.Metric.Namespace + " " + *q.MetricStat.Metric.MetricName + " " +
				*q.MetricStat.Stat
			for _, d := range q.MetricStat.Metric.Dimensions {
				name += " " + *d.Name + "=" + *d.Value
			}
		}
		r := types.MetricDataResult{Id: q.Id, Label: sdk.String(w.labels[name])}
		for ago, n := range w.values[name] {
			r.Timestamps, r.Values = append(r.Timestamps, in.EndTime.Add(-time.Duration(ago)*time.Minute)),
				append(r.Values, n)
		}
		out.MetricDataResults = append(out.MetricDataResults, r)
		if q.Expression != nil && len(r.Values) > 0 { // a search finds several
			out.MetricDataResults = append(out.MetricDataResults, r)
		}
	}
	return out, nil
}

// closedIndex may not be read.
type closedIndex struct{ *supervisor }

func (closedIndex) Due(context.Context, port.Bucket, int, time.Time, *port.Due, int) ([]port.Due, error) {
	return nil, errors.New("denied")
}

const inErrorSearch = `SEARCH('{Stepkeeper,Deployment,Workflow} Deployment="Shop/Engine" MetricName="OrdersInError"', 'Maximum', 60)`

// watched returns a stack with an agent that has a second queue for high priority.
func watched(t *testing.T, w *watch) *stacktest.Deployment {
	s := stacktest.New(t, stacktest.Memory())
	o := &s.Parts.Outputs
	o.Intake = "https://sqs/1/Shop-Intake"
	o.Deployment = "Shop/Engine"
	o.Scheduler = "Shop-Scheduler"
	o.SweepInterval = 2 * time.Minute
	o.Replies = "https://sqs/1/Shop-Replies"
	o.Requests = map[string]string{"mail": "https://sqs/1/Shop-Mail"}
	o.High = map[string]string{port.Requests("mail"): "https://sqs/1/Shop-Mail-High"}
	depth := func(n int) func() (port.Depth, error) {
		return func() (port.Depth, error) { return port.Depth{Visible: n, InFlight: 1}, nil }
	}
	s.Parts.Queues = counted{s.Parts.Queues,
		map[string]func() (port.Depth, error){port.Requests("mail"): depth(4),
			port.High(port.Requests("mail")): depth(2)}}
	s.Parts.Sweeps = &supervisor{Store: memory.NewStore(4), due: time.Now().Add(-10 * time.Minute)}
	s.Parts.Metrics = w
	return s
}

func last(t *testing.T, s *client.Statistics, kind, of string, n int) string {
	t.Helper()
	for _, x := range s.Series {
		if x.Kind == kind && x.Of == of {
			text := ""
			for _, v := range x.Values[len(x.Values)-n:] {
				if v == nil {
					text += " –"
				} else {
					text += fmt.Sprint(" ", *v)
				}
			}
			return text
		}
	}
	t.Errorf("there is no series %s of %q", kind, of)
	return ""
}

// Statistics of a stack use existing metrics only. Values that no metric reports are named.
func TestStatistics(t *testing.T) {
	w := &watch{values: map[string]map[int]float64{
		"AWS/SQS NumberOfMessagesDeleted Sum QueueName=Shop-Intake":                   {5: 30, 4: 40, 3: 30},
		"AWS/SQS ApproximateNumberOfMessagesVisible Maximum QueueName=Shop-Mail":      {4: 7, 3: 8},
		"AWS/SQS ApproximateNumberOfMessagesVisible Maximum QueueName=Shop-Mail-High": {3: 1},
		"AWS/SQS ApproximateAgeOfOldestMessage Maximum QueueName=Shop-Mail":           {4: 95, 3: 90},
		"Stepkeeper OldestOverdue Maximum Deployment=Shop/Engine":                     {6: 0, 4: 0},
		inErrorSearch: {4: 3},
		"Stepkeeper NotCalled Sum Deployment=Shop/Engine Agent=mail": {
			30: 1, 14: 2, 9: 1, 8: 0},
		"AWS/DynamoDB ConsumedWriteCapacityUnits Sum TableName=orders": {
			5: 800, 4: 100},
		"AWS/DynamoDB ConsumedWriteCapacityUnits Sum TableName=orders GlobalSecondaryIndexName=complete-by": {
			5: 300},
		"AWS/DynamoDB ConsumedReadCapacityUnits Sum TableName=orders": {
			5: 500},
		"AWS/SQS NumberOfMessagesSent Sum QueueName=Shop-Mail-High": {
			5: 11},
		"AWS/Lambda Invocations Sum FunctionName=Shop-Scheduler": {
			5: 50},
		"AWS/Lambda Duration Sum FunctionName=Shop-Scheduler": {
			5: 1500.5},
	}}
	stack := watched(t, w)
	c := stack.Client()
	s, err := c.Statistics(t.Context())
	require.NoError(t, err)
	for want, got := range map[string]string{
		"received 30 40 30 – –": "received" + last(t, s, view.SeriesReceived, "", 5),
		"waiting – 7 9 – –":     "waiting" + last(t, s, view.SeriesWaiting, "mail", 5),
		// two workflows, and what a sweep says holds until the next
		"error 0 0 6 6 – –": "error" + last(t, s, view.SeriesOrders, "Error", 6),
	} {
		require.Equal(t, want, got)
	}
	require.Len(t, s.Agents, 1)
	a := s.Agents[0]
	require.Len(t, a.NotCalled, 1)
	require.Equal(t, 6, a.Waiting)
	require.Equal(t, 2, a.InFlight)
	require.Equal(t, 90*time.Second, a.Oldest.Std())
	require.Nil(t, a.Done)
	require.Nil(t, a.Failed)
	require.Equal(t, a.NotCalled[0].Since.Std(), s.From.Std().Add(46*time.Minute))
	require.NotNil(t, s.Overdue)
	require.Equal(t, 1, s.Overdue.Orders)
	want := (view.Usage{
		Orders: 100, WriteUnits: 1200, ReadUnits: 500, Messages: 111, Invocations: 50, Milliseconds: 1500.5,
	})
	require.NotNil(t, s.Usage)
	require.Equal(t, want, *s.Usage)
	text := strings.Join(s.Unknown, "\n")
	require.Contains(t, text, "orders that ended")
	require.Contains(t, text, "replies of agents")
	require.Len(t, s.Unknown, 2)
	calls := w.calls.Load()
	again, err := c.Statistics(t.Context())
	require.NoError(t, err)
	require.Same(t, s, again, "read again within a minute")
	require.Equal(t, calls, w.calls.Load())
}

// Values that may not be read, or that an older stack does not report, are named and not drawn as zero. All
// others are shown.
func TestStatisticsThatMayNotBeRead(t *testing.T) {
	stack := watched(t, &watch{err: errors.New("AccessDenied")})
	stack.Parts.Sweeps = closedIndex{&supervisor{}}
	s, err := stack.Client().Statistics(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Series)
	require.Nil(t, s.Usage)
	require.Len(t, s.Agents, 1)
	require.Equal(t, 6, s.Agents[0].Waiting)
	require.Nil(t, s.Overdue)
	require.Contains(t, strings.Join(s.Unknown, "\n"), "metrics of CloudWatch: ")
	require.Contains(t, strings.Join(s.Unknown, "\n"), "overdue orders: ")
	stack = watched(t, &watch{})
	stack.Parts.Outputs.Deployment = ""
	s, err = stack.Client().Statistics(t.Context())
	require.NoError(t, err)
	require.Len(t, s.Series, 2)
	require.Contains(t, strings.Join(s.Unknown, "\n"), "deploy the stack again")
	stack.Parts.Metrics = nil
	s, err = stack.Client().Statistics(t.Context())
	require.NoError(t, err)
	require.Contains(t, strings.Join(s.Unknown, "\n"), "not read through this client")
}
