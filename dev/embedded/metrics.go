package embedded

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// telemetry holds the metrics for GET /metrics. Names and units follow the conventions of Prometheus. Labels
// have few values, such as names of workflows, steps, agents, queues and states. Order IDs are not labels,
// because there is no limit to their number.
type telemetry struct {
	registry  *prometheus.Registry
	ended     *prometheus.CounterVec
	orders    *prometheus.HistogramVec
	steps     *prometheus.HistogramVec
	replies   *prometheus.CounterVec
	commits   prometheus.Histogram
	group     prometheus.Histogram
	sweeps    prometheus.Histogram
	swept     prometheus.Gauge
	handBacks prometheus.Counter
	inError   *prometheus.GaugeVec
	oldest    *prometheus.GaugeVec
}

// seconds lists the bucket bounds of the duration histograms, from 5 ms to three days.
var seconds = []float64{0.005, 0.02, 0.1, 0.5, 1, 5, 30, 120, 600, 3600, 6 * 3600, 24 * 3600, 72 * 3600}

func newMetrics(s *Runtime) *telemetry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), present{s})
	with := promauto.With(registry)
	return &telemetry{
		registry: registry,
		ended: with.NewCounterVec(prometheus.CounterOpts{
			Name: "stepkeeper_orders_ended_total",
			Help: "Orders that came to an end, or to Error, since the start.",
		}, []string{"workflow", "state"}),
		orders: with.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stepkeeper_order_duration_seconds",
			Help: "Time from an order's receipt to its end.", Buckets: seconds,
		}, []string{"workflow", "state"}),
		steps: with.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "stepkeeper_step_duration_seconds",
			Help:    "Time from a step's first claim to its end, of orders that were processed.",
			Buckets: seconds,
		}, []string{"workflow", "step"}),
		replies: with.NewCounterVec(prometheus.CounterOpts{
			Name: "stepkeeper_replies_total",
			Help: "Replies of agents by outcome; all but done are repeated, or failures.",
		}, []string{"agent", "operation", "outcome"}),
		commits: with.NewHistogram(prometheus.HistogramOpts{
			Name:    "stepkeeper_commit_duration_seconds",
			Help:    "Time that a group of writes took to be durable.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2, 14),
		}),
		group: with.NewHistogram(prometheus.HistogramOpts{
			Name: "stepkeeper_commit_group_size",
			Help: "Writes that one commit carried.", Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		sweeps: with.NewHistogram(prometheus.HistogramOpts{
			Name:    "stepkeeper_sweep_duration_seconds",
			Help:    "Time that a sweep of the Supervisor took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}),
		swept: with.NewGauge(prometheus.GaugeOpts{
			Name: "stepkeeper_sweep_last_success_timestamp_seconds",
			Help: "When a sweep last ended without an error.",
		}),
		handBacks: with.NewCounter(prometheus.CounterOpts{
			Name: "stepkeeper_steps_overdue_total",
			Help: "Steps that the Supervisor handed back, because no reply came in time.",
		}),
		inError: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "stepkeeper_orders_in_error",
			Help: "Orders that wait for an operator, in Error or damaged; workflows without any are absent.",
		}, []string{"workflow"}),
		oldest: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "stepkeeper_oldest_in_error_seconds",
			Help: "How long the oldest of these orders has been in Error.",
		}, []string{"workflow"}),
	}
}

// Metrics returns the handler for GET /metrics.
func (s *Runtime) Metrics() http.Handler {
	return promhttp.HandlerFor(s.metrics.registry,
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, Timeout: scrapeTime})
}

const scrapeTime = 5 * time.Second

func (m *telemetry) rested(t *protocol.Task) {
	state := string(t.ProcessState)
	m.ended.WithLabelValues(t.Workflow, state).Inc()
	if t.ProcessState == core.Error {
		return // not an end, because an operator can resume the order
	}
	m.orders.WithLabelValues(t.Workflow, state).Observe(elapsed(t.Created, t.End.At))
	if t.ProcessState != core.Processed {
		return
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.State == core.Processed && s.FirstClaim() != 0 && s.Finish.At != 0 {
			m.steps.WithLabelValues(t.Workflow, s.Name).Observe(elapsed(s.FirstClaim(), s.Finish.At))
		}
	}
}

// elapsed returns the seconds between two times. It is 0 if the clock was set back between them, because the sum of a
// histogram must not decrease.
func elapsed(from, to core.Time) float64 { return max(0, to.Sub(from).Std().Seconds()) }

func (m *telemetry) replied(agent, operation string, r core.Reply) {
	m.replies.WithLabelValues(agent, operation, string(r.Outcome)).Inc()
}

// committed implements sqlite.Options.Committed.
func (m *telemetry) committed(writes int, took time.Duration) {
	m.commits.Observe(took.Seconds())
	m.group.Observe(float64(writes))
}

func (m *telemetry) sweep(r supervisor.Report, began, ended time.Time, err error) {
	m.sweeps.Observe(ended.Sub(began).Seconds())
	m.handBacks.Add(float64(r.HandedBack + r.Uncounted))
	if err == nil {
		m.swept.Set(float64(ended.UnixMilli()) / 1000)
	}
}

func (m *telemetry) stopped(by map[string]port.Stopped) {
	m.inError.Reset()
	m.oldest.Reset()
	for workflow, s := range by {
		m.inError.WithLabelValues(workflow).Set(float64(s.Orders))
		m.oldest.WithLabelValues(workflow).Set(s.Oldest.Seconds())
	}
}

// present collects the metrics that are computed at each request to GET /metrics.
type present struct{ *Runtime }

var (
	ordersNow = prometheus.NewDesc("stepkeeper_orders", "Stored orders by state.", []string{"state"}, nil)
	activeNow = prometheus.NewDesc("stepkeeper_orders_active",
		"Orders that count against --max-open: not at rest, and not only waiting.", nil, nil)
	activeMost = prometheus.NewDesc("stepkeeper_orders_active_limit",
		"Number of active orders from which new ones are refused (--max-open).", nil, nil)
	messagesNow = prometheus.NewDesc("stepkeeper_queue_messages",
		"Messages in a queue: visible, in flight, or delayed.", []string{"queue", "state"}, nil)
	oldestNow = prometheus.NewDesc("stepkeeper_queue_oldest_seconds",
		"Age of the oldest visible message of a queue.", []string{"queue"}, nil)
	eventsNow = prometheus.NewDesc("stepkeeper_messages_total",
		"Messages that were ignored, refused, returned to the queue or quarantined, since the start.",
		[]string{"what", "reason"}, nil)
	callsNow = prometheus.NewDesc("stepkeeper_agent_requests_total",
		"Requests that an agent of this process ended, by outcome.", []string{"agent", "outcome"}, nil)
	inFlightNow = prometheus.NewDesc("stepkeeper_agent_requests_in_flight",
		"Requests that an agent of this process works at.", []string{"agent"}, nil)
	breakersNow = prometheus.NewDesc("stepkeeper_breaker_open",
		"1 during an outage in which the circuit breaker of an operation is open.", []string{"agent", "operation"},
		nil)
	lagNow = prometheus.NewDesc("stepkeeper_sweep_lag_seconds",
		"How long the most overdue order has been due.", nil, nil)
	panicsNow = prometheus.NewDesc("stepkeeper_panics_total",
		"Caught panics; the log has the stack of each. Report them.", nil,
		nil)
	unattendedNow = prometheus.NewDesc("stepkeeper_queues_unattended",
		"Queues of requests without a consumer.", nil, nil)
)

// Describe sends no descriptions. The registry then accepts all metrics that Collect sends.
func (p present) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. The registry calls Collect in a goroutine of its own. Collect
// recovers from a panic, because a panic in this goroutine would end the process.
func (p present) Collect(to chan<- prometheus.Metric) {
	_ = port.Guard(p.log, "a collector of metrics", func() error { p.collect(to); return nil })
}

func (p present) collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	p.collectOrders(ctx, to)
	p.collectQueues(ctx, to)
	p.counts.Range(func(key, n any) bool {
		what, reason, _ := strings.Cut(key.(string), ": ")
		to <- prometheus.MustNewConstMetric(eventsNow, prometheus.CounterValue, float64(n.(*counter).Load()),
			what, reason)
		return true
	})
	p.collectAgents(ctx, to)
	to <- prometheus.MustNewConstMetric(panicsNow, prometheus.CounterValue, float64(port.Panics()))
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (p present) collectOrders(ctx context.Context, to chan<- prometheus.Metric) {
	states, err := p.store.States(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(ordersNow, err)
	}
	for state, n := range states {
		gauge(to, ordersNow, float64(n), state)
	}
	gauge(to, activeNow, float64(p.hub.activeOrders()))
	gauge(to, activeMost, float64(p.options.MaxOpen))
	lag := core.Duration(0) // The lag is computed here, because the last sweep may be long ago.
	overdue, err := p.overdue(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(lagNow, err)
		return
	}
	if overdue.Orders > 0 {
		lag = core.TimeOf(p.clock.Now()).Sub(overdue.Since)
	}
	gauge(to, lagNow, lag.Std().Seconds())
}

func (p present) collectQueues(ctx context.Context, to chan<- prometheus.Metric) {
	gauge(to, unattendedNow, float64(len(p.Unattended(ctx))))
	for _, name := range p.queues.names() {
		q, err := p.queues.Queue(name)
		if err != nil {
			continue
		}
		depth, err := q.Depth(ctx)
		if err != nil {
			to <- prometheus.NewInvalidMetric(messagesNow, err)
			continue
		}
		gauge(to, messagesNow, float64(depth.Visible), name, "visible")
		gauge(to, messagesNow, float64(depth.InFlight), name, "in-flight")
		gauge(to, messagesNow, float64(depth.Delayed), name, "delayed")
		gauge(to, oldestNow, depth.Oldest.Seconds(), name)
	}
}

func (p present) collectAgents(ctx context.Context, to chan<- prometheus.Metric) {
	outages, err := p.outages(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(breakersNow, err)
	}
	open := map[[2]string]float64{}
	for _, a := range p.agents {
		if a.pump != nil {
			for operation := range a.pump.Worker.Stats().Breakers {
				open[[2]string{a.name, operation}] = 0
			}
		}
	}
	for _, o := range outages {
		if o.Code == core.CodeBreakerOpen {
			open[[2]string{o.Agent, o.Operation}] = 1
		}
	}
	for of, value := range open {
		gauge(to, breakersNow, value, of[0], of[1])
	}
	for _, a := range p.agents {
		if a.pump == nil {
			continue
		}
		for name, n := range a.stats() {
			if name == "in-flight" {
				gauge(to, inFlightNow, float64(n), a.name)
				continue
			}
			to <- prometheus.MustNewConstMetric(callsNow, prometheus.CounterValue, float64(n), a.name, name)
		}
	}
}
