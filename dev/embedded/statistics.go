package embedded

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// samplesKept limits the number of intervals in a series: one hour at the default interval.
const samplesKept = 360

// figure names one number of a sample:
//
//   - kind is the kind of a view.Series or a constant below.
//   - of is the state or the agent that the number describes.
type figure struct{ kind, of string }

// Kinds of figures that count an agent's replies. They do not become a view.Series.
const (
	repliesDone   = "done"
	repliesFailed = "failed"
)

type sample struct {
	at      time.Time
	numbers map[figure]int // values; ended orders and replies are counted from the start of the process
}

// samples contains the samples of the last intervals, oldest first.
type samples struct {
	mu  sync.Mutex
	all []sample
}

// add adds the present sample. It removes the samples of intervals long ago, and those of a clock that was ahead.
func (s *samples) add(x sample, every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(before sample) bool {
		age := x.at.Sub(before.at)
		return age < 0 || age > samplesKept*every
	})
	s.all = append(s.all, x)
}

func (s *samples) copied() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

func (s *Runtime) sampleAlways(ctx context.Context) {
	every(ctx, s.options.StatisticsEvery, func() {
		if x, err := s.sample(); err == nil {
			s.samples.add(x, s.options.StatisticsEvery)
		} else if ctx.Err() == nil {
			s.log.Warn("the statistics lack an interval", "error", err)
		}
	})
}

var (
	inFlight = figure{view.SeriesOrders, view.OrdersInFlight}
	inError  = figure{view.SeriesOrders, string(core.Error)}
)

// newSample returns a sample without orders. It is the first sample of a process, whose counts begin with 0. So
// the first interval has all that ended in it.
func newSample(at time.Time) sample { return sample{at, map[figure]int{inFlight: 0, inError: 0}} }

func (s *Runtime) sample() (sample, error) {
	x := newSample(s.clock.Now())
	families, err := s.metrics.registry.Gather()
	if err != nil {
		return x, err
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			agent, ofAgent := strings.CutPrefix(labels["queue"], port.Requests(""))
			switch name := family.GetName(); {
			case name == "stepkeeper_orders_ended_total":
				x.numbers[figure{view.SeriesEnded, labels["state"]}] += int(m.GetCounter().GetValue())
			case name == "stepkeeper_orders" && labels["state"] == string(core.Error):
				x.numbers[inError] = int(m.GetGauge().GetValue())
			case name == "stepkeeper_orders" && (labels["state"] == string(core.Processing) ||
				labels["state"] == string(core.Compensating)):
				x.numbers[inFlight] += int(m.GetGauge().GetValue())
			case name == "stepkeeper_queue_messages" && ofAgent && labels["state"] == "visible":
				x.numbers[figure{view.SeriesWaiting, agent}] = int(m.GetGauge().GetValue())
			case name == "stepkeeper_replies_total" && labels["outcome"] == string(core.OutcomeDone):
				x.numbers[figure{repliesDone, labels["agent"]}] += int(m.GetCounter().GetValue())
			case name == "stepkeeper_replies_total":
				x.numbers[figure{repliesFailed, labels["agent"]}] += int(m.GetCounter().GetValue())
			}
		}
	}
	return x, nil
}

// Statistics implements api.Backend.
func (s *Runtime) Statistics(ctx context.Context) (view.Statistics, error) {
	all := s.samples.copied()
	every := s.options.StatisticsEvery
	now := s.clock.Now()
	out := view.Statistics{
		From: core.TimeOf(now), Interval: core.Duration(every.Milliseconds()),
		Series: []view.Series{}, Agents: []view.AgentStatistics{},
	}
	var first, last sample
	if len(all) > 0 {
		first = all[0]
		last = all[len(all)-1]
		out.From = core.TimeOf(first.at)
		out.Series = seriesOf(all, every)
	}
	notCalled, err := s.notCalled(ctx)
	if err != nil {
		return out, err
	}
	for _, a := range s.agents {
		count := func(kind string) *int {
			n := last.numbers[figure{kind, a.name}] - first.numbers[figure{kind, a.name}]
			return &n
		}
		x := view.AgentStatistics{
			Agent: a.name, Done: count(repliesDone), Failed: count(repliesFailed),
			NotCalled: notCalled[a.name],
		}
		delete(notCalled, a.name)
		depth, err := s.queues.ours(port.Requests(a.name)).Depth(ctx)
		if err != nil {
			x.Unknown = err.Error()
		}
		x.Waiting = depth.Visible
		x.InFlight = depth.InFlight
		x.Oldest = core.Duration(depth.Oldest.Milliseconds())
		out.Agents = append(out.Agents, x)
	}
	for _, name := range slices.Sorted(maps.Keys(notCalled)) {
		out.Agents = append(out.Agents, view.AgentStatistics{
			Agent: name, NotCalled: notCalled[name],
			Unknown: "the agent is not deployed, so it has no queue",
		})
	}
	overdue, err := s.overdue(ctx)
	out.Overdue = &overdue
	return out, err
}

// outages returns the outages that last.
func (s *Runtime) outages(ctx context.Context) ([]port.Outage, error) {
	all, err := s.incidents.Outages(ctx)
	return slices.DeleteFunc(all, func(o port.Outage) bool { return o.Ended != 0 }), err
}

// notCalled returns the operations that are not called now, by agent.
func (s *Runtime) notCalled(ctx context.Context) (map[string][]view.NotCalled, error) {
	all := map[string][]view.NotCalled{}
	outages, err := s.outages(ctx)
	for _, o := range outages {
		all[o.Agent] = append(all[o.Agent], view.NotCalled{Operation: o.Operation, Code: o.Code, Since: o.Since})
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b view.NotCalled) int { return strings.Compare(a.Operation, b.Operation) })
	}
	return all, err
}

// overdue counts the orders that have been due for longer than the sweep interval. It counts at most
// view.MostOverdue orders.
func (s *Runtime) overdue(ctx context.Context) (o view.Overdue, err error) {
	before := s.clock.Now().Add(-s.options.SweepEvery)
	for shard := range s.store.Shards() {
		due, err := s.store.Due(ctx, port.DueBucket, shard, before, nil, max(1, view.MostOverdue-o.Orders))
		if err != nil {
			return o, fmt.Errorf("overdue orders: %w", err)
		}
		o.Add(due)
	}
	return o, nil
}

// seriesOf assigns the samples to intervals. If a sample is missing, the next count of ended orders covers
// several intervals. seriesOf then drops this count, because it cannot be divided among the intervals.
func seriesOf(all []sample, every time.Duration) []view.Series {
	place := func(at time.Time) int { return int(at.Sub(all[0].at).Round(every)/every) - 1 }
	intervals := max(place(all[len(all)-1].at)+1, 0)
	keys := map[figure]bool{{view.SeriesEnded, string(core.Processed)}: true}
	for _, x := range all {
		for f := range x.numbers {
			keys[f] = f.kind != repliesDone && f.kind != repliesFailed
		}
	}
	series := []view.Series{}
	for f, is := range keys {
		if !is {
			continue
		}
		values := make([]*int, intervals)
		for i := 1; i < len(all); i++ {
			n := all[i].numbers[f]
			at := place(all[i].at)
			if f.kind == view.SeriesEnded {
				n -= all[i-1].numbers[f]
				if place(all[i-1].at) != at-1 {
					continue
				}
			}
			if at >= 0 {
				values[at] = &n
			}
		}
		series = append(series, view.Series{Kind: f.kind, Of: f.of, Values: values})
	}
	slices.SortFunc(series, func(a, b view.Series) int {
		return strings.Compare(a.Kind+" "+a.Of,
			b.Kind+" "+b.Of)
	})
	return series
}
