package operate

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	// statisticsHold is the time for which statistics are cached. CloudWatch charges for each metric that is
	// read.
	statisticsHold = time.Minute
	peakHold       = 10 * time.Minute
	covered        = time.Hour
	minutes        = int(covered / time.Minute)
	// settling is the delay until CloudWatch's metrics are complete.
	settling = 5 * time.Minute
	// uncalledFor is the time for which a value of MetricNotCalled counts. The Scheduler writes this metric
	// if an agent replies that it does not call the service. The next attempt of the step usually comes
	// within 7.5 minutes, and writes the metric again (P45, "not now" is not a failure).
	uncalledFor = 10*time.Minute + settling
	metricsTime = 5 * time.Second
)

// statistics caches the last results. The field after each result is the time until which the result is
// valid.
type statistics struct {
	all      *client.Statistics
	until    time.Time
	peak     float64
	peakTill time.Time
}

// Statistics collects metrics, the numbers of messages in the agents' queues, and the overdue orders.
func (t *transport) Statistics(ctx context.Context) (*client.Statistics, error) {
	t.statisticsMu.Lock()
	defer t.statisticsMu.Unlock()
	now := time.Now()
	if t.statistics.all != nil && now.Before(t.statistics.until) {
		return t.statistics.all, nil
	}
	from := now.Truncate(time.Minute).Add(-covered)
	s := &client.Statistics{
		From: core.TimeOf(from), Interval: core.Minute, Series: []view.Series{},
		Agents: t.agentsNow(ctx),
		Unknown: []string{
			"orders that ended, and those in flight, over time: no metric of a stack counts them, because " +
				"each is billed",
			"replies of agents: likewise",
		},
	}
	var err error
	s.Overdue, err = t.overdue(ctx, now)
	if err != nil {
		s.Unknown = append(s.Unknown, "overdue orders: "+err.Error())
	}
	within, cancel := context.WithTimeout(ctx, metricsTime)
	defer cancel()
	if err := t.addMetrics(within, s, from); err != nil {
		s.Unknown = append(s.Unknown, "metrics of CloudWatch: "+err.Error())
	}
	if ctx.Err() != nil { // the errors above come from the end of the caller's context
		return nil, ctx.Err()
	}
	t.statistics.all = s
	t.statistics.until = now.Add(statisticsHold)
	return s, nil
}

func (t *transport) agentsNow(ctx context.Context) []view.AgentStatistics {
	all := []view.AgentStatistics{}
	for _, agent := range slices.Sorted(maps.Keys(t.Outputs.Requests)) {
		a := view.AgentStatistics{Agent: agent}
		for _, queue := range t.withHigh(port.Requests(agent)) {
			depth, err := t.depth(ctx, queue)
			if err != nil {
				a.Unknown = err.Error()
			}
			a.Waiting = a.Waiting + depth.Visible
			a.InFlight = a.InFlight + depth.InFlight
		}
		all = append(all, a)
	}
	return all
}

func (t *transport) overdue(ctx context.Context, now time.Time) (*view.Overdue, error) {
	if t.Parts.Sweeps == nil {
		return nil, nil
	}
	all := &view.Overdue{}
	for shard := range t.Outputs.Shards {
		if all.Orders >= view.MostOverdue {
			break
		}
		due, err := t.Parts.Sweeps.Due(ctx, port.DueBucket, shard, now.Add(-t.Outputs.SweepInterval), nil,
			view.MostOverdue-all.Orders)
		if err != nil {
			return nil, aws.Failed(ctx, t.IndexUse(), err)
		}
		all.Add(due)
	}
	return all, nil
}

// metric is a metric to read. If search is set, each value is the sum over all metrics that match the search
// expression.
type metric struct {
	namespace, name, statistic string
	dimensions                 []string // names and values, alternating
	search                     string
	values                     []*float64 // one value for each minute; nil if CloudWatch has no value
}

func (t *transport) read(ctx context.Context, from time.Time, metrics []*metric) error {
	if t.aws == nil {
		return fmt.Errorf("they are not read through this client")
	}
	in := metricTimes(from, from.Add(covered))
	byID := map[string]*metric{}
	for i, m := range metrics {
		m.values = make([]*float64, minutes)
		id := fmt.Sprintf("m%d", i)
		byID[id] = m
		query := fmt.Sprintf("MetricDataQueries.member.%d.", i+1)
		in.Set(query+"Id", id)
		m.ask(in, query)
	}
	results, err := t.readMetrics(ctx, in)
	if err != nil {
		return err
	}
	for _, r := range results {
		m := byID[r.ID]
		for k, at := range r.Timestamps {
			minute := int(at.Sub(from) / time.Minute)
			if m == nil || k >= len(r.Values) || minute < 0 || minute >= minutes {
				continue
			}
			m.values[minute] = sdk.Float64(sdk.ToFloat64(m.values[minute]) + r.Values[k])
		}
	}
	return nil
}

// ask adds the fields of the query for the metric. The names of all fields begin with query.
func (m *metric) ask(in url.Values, query string) {
	if m.search != "" {
		in.Set(query+"Expression", m.search)
		in.Set(query+"Period", "60")
		return
	}
	of := query + "MetricStat."
	in.Set(of+"Period", "60")
	in.Set(of+"Stat", m.statistic)
	in.Set(of+"Metric.Namespace", m.namespace)
	in.Set(of+"Metric.MetricName", m.name)
	for k := 0; k+1 < len(m.dimensions); k += 2 {
		dimension := fmt.Sprintf("%sMetric.Dimensions.member.%d.", of, k/2+1)
		in.Set(dimension+"Name", m.dimensions[k])
		in.Set(dimension+"Value", m.dimensions[k+1])
	}
}

func (t *transport) ofQueue(queue, url, name, statistic string) (all []*metric) {
	for _, u := range []string{url, t.Outputs.High[queue]} {
		if u != "" {
			all = append(all, &metric{
				namespace: "AWS/SQS", name: name, statistic: statistic,
				dimensions: []string{"QueueName", path.Base(u)},
			})
		}
	}
	return all
}

func (t *transport) own(name, statistic string, dimensions ...string) *metric {
	return &metric{
		namespace: deployment.MetricNamespace, name: name, statistic: statistic,
		dimensions: append([]string{deployment.MetricDeployment, t.Outputs.Deployment}, dimensions...),
	}
}

// search returns the expression that finds a metric of the deployment for all values of a dimension.
func (t *transport) search(name, dimension, statistic string, seconds int) string {
	return fmt.Sprintf(`SEARCH('{%s,%s,%s} %[2]s="%[4]s" MetricName="%s"', '%s', %d)`, deployment.MetricNamespace,
		deployment.MetricDeployment, dimension, t.Outputs.Deployment, name, statistic, seconds)
}

func (t *transport) addMetrics(ctx context.Context, s *client.Statistics, from time.Time) error {
	received := t.ofQueue(port.Intake, t.Outputs.Intake, "NumberOfMessagesDeleted", "Sum")
	swept := t.own(deployment.MetricOldestOverdue, "Maximum")
	inError := &metric{search: t.search(deployment.MetricInError, deployment.MetricWorkflow, "Maximum", 60)}
	waiting := make([][]*metric, len(s.Agents))
	oldest := make([][]*metric, len(s.Agents))
	notCalled := make([]*metric, len(s.Agents))
	all := slices.Clone(received)
	for i := range s.Agents {
		agent := s.Agents[i].Agent
		queue := port.Requests(agent)
		url := t.Outputs.Requests[agent]
		waiting[i] = t.ofQueue(queue, url, "ApproximateNumberOfMessagesVisible", "Maximum")
		oldest[i] = t.ofQueue(queue, url, "ApproximateAgeOfOldestMessage", "Maximum")
		notCalled[i] = t.own(deployment.MetricNotCalled, "Sum", deployment.MetricAgent, agent)
		all = slices.Concat(all, waiting[i], oldest[i])
	}
	if t.Outputs.Deployment != "" {
		all = append(append(all, notCalled...), swept, inError)
	}
	if err := t.read(ctx, from, all); err != nil {
		return err
	}
	s.Series = append(s.Series, series(view.SeriesReceived, "", received))
	if t.Outputs.Deployment == "" {
		s.Unknown = append(s.Unknown, "orders in Error over time, and agents that do not call their "+
			"service: deploy the stack again, its outputs do not have the name of its metrics")
	} else {
		s.Series = append(s.Series, view.Series{
			Kind: view.SeriesOrders, Of: string(core.Error),
			Values: t.inError(swept.values, inError.values),
		})
	}
	for i := range s.Agents {
		a := &s.Agents[i]
		s.Series = append(s.Series, series(view.SeriesWaiting, a.Agent, waiting[i]))
		for _, m := range oldest[i] {
			if n := latest(m.values, settling); n != nil && a.Waiting > 0 {
				a.Oldest = max(a.Oldest, core.Duration(*n)*core.Second)
			}
		}
		if since, is := uncalledSince(notCalled[i].values); is {
			a.NotCalled = []view.NotCalled{{Since: s.From.Add(core.Duration(since) * core.Minute)}}
		}
	}
	return nil
}

func series(kind, of string, metrics []*metric) view.Series {
	all := make([]*int, minutes)
	for _, m := range metrics {
		for i, v := range m.values {
			if v != nil {
				all[i] = sdk.Int(sdk.ToInt(all[i]) + int(math.Round(*v)))
			}
		}
	}
	return view.Series{Kind: kind, Of: of, Values: all}
}

// inError returns the number of orders in Error for each minute. The argument swept has a value for each
// minute with a sweep. If found has no value for such a minute, the sweep found no order in Error. Each
// number holds until the next sweep is due.
func (t *transport) inError(swept, found []*float64) []*int {
	all := make([]*int, minutes)
	holds := int((t.Outputs.SweepInterval + time.Minute - 1) / time.Minute)
	last := -1
	for i := range all {
		if swept[i] != nil {
			last = i
		}
		if last < 0 || i-last >= holds {
			continue
		}
		n := 0
		if found[last] != nil {
			n = int(*found[last])
		}
		all[i] = &n
	}
	return all
}

// latest returns the last value that is at most as old as the duration within. It returns nil if there is no
// such value.
func latest(values []*float64, within time.Duration) *float64 {
	for i := minutes - 1; i >= minutes-int(within/time.Minute); i-- {
		if values[i] != nil {
			return values[i]
		}
	}
	return nil
}

// uncalledSince returns the first minute of the present period during which an agent does not call its
// service. The second result is false if there is no such period.
func uncalledSince(values []*float64) (since int, is bool) {
	if values == nil { // the metric was not read
		return 0, false
	}
	last := minutes
	for i := minutes - 1; i >= 0 && last-i <= int(uncalledFor/time.Minute); i-- {
		if values[i] != nil && *values[i] > 0 {
			last = i
			is = true
		}
	}
	return last, is
}
