package operate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
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
	denied bool
}

func (w *watch) answer(c awsstub.Call) (int, string) {
	w.calls.Add(1)
	if w.denied || c.Action != "monitoring:GetMetricData" {
		return awsstub.Denied("ann may not call " + c.Action)
	}
	end, err := time.Parse(time.RFC3339, c.Form.Get("EndTime"))
	if err != nil {
		return http.StatusBadRequest, `<ErrorResponse/>`
	}
	first := 1
	_, _ = fmt.Sscan(c.Form.Get("NextToken"), &first) // without a token it is the first page
	text := `<R><GetMetricDataResult><MetricDataResults>`
	for i := first; i < first+3; i++ {
		name := metricOf(c.Form, i)
		if name == "" {
			break
		}
		result := `<member><Id>` + c.Form.Get(fmt.Sprintf("MetricDataQueries.member.%d.Id", i)) + `</Id><Label>` +
			w.labels[name] + `</Label><Timestamps>`
		values := ""
		for ago, n := range w.values[name] {
			result += `<member>` + end.Add(-time.Duration(ago)*time.Minute).Format(time.RFC3339) + `</member>`
			values += fmt.Sprintf(`<member>%g</member>`, n)
		}
		result += `</Timestamps><Values>` + values + `</Values></member>`
		text += result
		if strings.HasPrefix(name, "SEARCH") && values != "" { // a search finds several
			text += result
		}
	}
	text += `</MetricDataResults>`
	if metricOf(c.Form, first+3) != "" {
		text += fmt.Sprintf(`<NextToken>%d</NextToken>`, first+3)
	}
	return http.StatusOK, text + `</GetMetricDataResult></R>`
}

// metricOf returns the metric of a query, or "" if there is no such query.
func metricOf(form url.Values, i int) string {
	query := fmt.Sprintf("MetricDataQueries.member.%d.", i)
	if search := form.Get(query + "Expression"); search != "" || !form.Has(query+"Id") {
		return search
	}
	of := query + "MetricStat."
	name := form.Get(of+"Metric.Namespace") + " " + form.Get(of+"Metric.MetricName") + " " + form.Get(of+"Stat")
	for k := 1; ; k++ {
		dimension := fmt.Sprintf("%sMetric.Dimensions.member.%d.", of, k)
		if !form.Has(dimension + "Name") {
			return name
		}
		name += " " + form.Get(dimension+"Name") + "=" + form.Get(dimension+"Value")
	}
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
	o.SweepInterval = 2 * time.Minute
	o.Replies = "https://sqs/1/Shop-Replies"
	o.Requests = map[string]string{"mail": "https://sqs/1/Shop-Mail"}
	o.High = map[string]string{port.Requests("mail"): "https://sqs/1/Shop-Mail-High"}
	depth := func(n int) func() (port.Depth, error) {
		return func() (port.Depth, error) { return port.Depth{Visible: n, InFlight: 1}, nil }
	}
	s.Parts.Queues = counted{
		s.Parts.Queues,
		map[string]func() (port.Depth, error){
			port.Requests("mail"):            depth(4),
			port.High(port.Requests("mail")): depth(2),
		},
	}
	s.Parts.Sweeps = &supervisor{Store: memory.NewStore(4), due: time.Now().Add(-10 * time.Minute)}
	config := awsstub.Config(t, w.answer)
	s.Parts.Config = &config
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
			30: 1, 14: 2, 9: 1, 8: 0,
		},
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
	require.Equal(t, s.From.Std().Add(46*time.Minute), a.NotCalled[0].Since.Std())
	require.NotNil(t, s.Overdue, "%+v", s.Overdue)
	require.Equal(t, 1, s.Overdue.Orders)
	text := strings.Join(s.Unknown, "\n")
	require.Contains(t, text, "orders that ended")
	require.Contains(t, text, "replies of agents")
	require.Len(t, s.Unknown, 2)
	calls := w.calls.Load()
	if again, err := c.Statistics(t.Context()); err != nil || again != s || w.calls.Load() != calls {
		t.Errorf("read again within a minute: %v", err)
	}
}

// Values that may not be read, or that an older stack does not report, are named and not drawn as zero. All
// others are shown.
func TestStatisticsThatMayNotBeRead(t *testing.T) {
	stack := watched(t, &watch{denied: true})
	stack.Parts.Sweeps = closedIndex{&supervisor{}}
	s, err := stack.Client().Statistics(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Series)
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
	stack.Parts.Config = nil
	s, err = stack.Client().Statistics(t.Context())
	require.NoError(t, err)
	require.Contains(t, strings.Join(s.Unknown, "\n"), "not read through this client")
}
