package embedded

import (
	"context"
	"net/http"
	"slices"
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
	commits   prometheus.Observer
	group     prometheus.Observer
	sweeps    prometheus.Observer
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
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return with.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return with.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return with.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	return &telemetry{
		registry: registry,
		ended: counter("stepkeeper_orders_ended_total",
			"Orders that came to an end, or to Error, since the start.", "workflow", "state"),
		orders: histogram("stepkeeper_order_duration_seconds",
			"Time from an order's receipt to its end.", seconds, "workflow", "state"),
		steps: histogram("stepkeeper_step_duration_seconds",
			"Time from a step's first claim to its end, of orders that were processed.", seconds, "workflow", "step"),
		replies: counter("stepkeeper_replies_total",
			"Replies of agents by outcome; all but done are repeated, or failures.", "agent", "operation", "outcome"),
		commits: histogram("stepkeeper_commit_duration_seconds",
			"Time that a group of writes took to be durable.",
			prometheus.ExponentialBuckets(0.0002, 2, 14)).WithLabelValues(),
		group: histogram("stepkeeper_commit_group_size",
			"Writes that one commit carried.", prometheus.ExponentialBuckets(1, 2, 10)).WithLabelValues(),
		sweeps: histogram("stepkeeper_sweep_duration_seconds",
			"Time that a sweep of the Supervisor took.", prometheus.ExponentialBuckets(0.001, 4, 9)).WithLabelValues(),
		swept: gauge("stepkeeper_sweep_last_success_timestamp_seconds",
			"When a sweep last ended without an error.").WithLabelValues(),
		handBacks: counter("stepkeeper_steps_overdue_total",
			"Steps that the Supervisor handed back, because no reply came in time.").WithLabelValues(),
		inError: gauge("stepkeeper_orders_in_error",
			"Orders that wait for an operator, in Error or damaged; workflows without any are absent.", "workflow"),
		oldest: gauge("stepkeeper_oldest_in_error_seconds",
			"How long the oldest of these orders has been in Error.", "workflow"),
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
		put(to, prometheus.CounterValue, "stepkeeper_messages_total",
			"Messages that were ignored, refused, returned to the queue or quarantined, since the start.",
			float64(n.(*counter).Load()), "what", what, "reason", reason)
		return true
	})
	p.collectAgents(ctx, to)
	put(to, prometheus.CounterValue, "stepkeeper_panics_total",
		"Caught panics; the log has the stack of each. Report them.", float64(port.Panics()))
}

// put sends a metric with its labels, which are pairs of a name and a value.
func put(to chan<- prometheus.Metric, kind prometheus.ValueType, name, help string, value float64, labels ...string) {
	var names, values []string
	for pair := range slices.Chunk(labels, 2) {
		names = append(names, pair[0])
		values = append(values, pair[1])
	}
	to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
}

func gauge(to chan<- prometheus.Metric, name, help string, value float64, labels ...string) {
	put(to, prometheus.GaugeValue, name, help, value, labels...)
}

// failed makes the registry report an error beside the other metrics.
func failed(to chan<- prometheus.Metric, err error) {
	to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}

func (p present) collectOrders(ctx context.Context, to chan<- prometheus.Metric) {
	states, err := p.store.States(ctx)
	if err != nil {
		failed(to, err)
	}
	for state, n := range states {
		gauge(to, "stepkeeper_orders", "Stored orders by state.", float64(n), "state", state)
	}
	gauge(to, "stepkeeper_orders_active", "Orders that count against --max-open: not at rest, and not only waiting.",
		float64(p.hub.activeOrders()))
	gauge(to, "stepkeeper_orders_active_limit",
		"Number of active orders from which new ones are refused (--max-open).", float64(p.options.MaxOpen))
	lag := core.Duration(0) // The lag is computed here, because the last sweep may be long ago.
	overdue, err := p.overdue(ctx)
	if err != nil {
		failed(to, err)
		return
	}
	if overdue.Orders > 0 {
		lag = core.TimeOf(p.clock.Now()).Sub(overdue.Since)
	}
	gauge(to, "stepkeeper_sweep_lag_seconds", "How long the most overdue order has been due.", lag.Std().Seconds())
}

func (p present) collectQueues(ctx context.Context, to chan<- prometheus.Metric) {
	gauge(to, "stepkeeper_queues_unattended", "Queues of requests without a consumer.",
		float64(len(p.Unattended(ctx))))
	for _, name := range p.queues.names() {
		depth, err := p.queues.ours(name).Depth(ctx)
		if err != nil {
			failed(to, err)
			continue
		}
		for state, n := range map[string]int{
			"visible": depth.Visible, "in-flight": depth.InFlight, "delayed": depth.Delayed,
		} {
			gauge(to, "stepkeeper_queue_messages", "Messages in a queue: visible, in flight, or delayed.", float64(n),
				"queue", name, "state", state)
		}
		gauge(to, "stepkeeper_queue_oldest_seconds", "Age of the oldest visible message of a queue.",
			depth.Oldest.Seconds(), "queue", name)
	}
}

func (p present) collectAgents(ctx context.Context, to chan<- prometheus.Metric) {
	outages, err := p.outages(ctx)
	if err != nil {
		failed(to, err)
	}
	open := map[[2]string]float64{}
	for _, a := range p.agents {
		if a.pump == nil {
			continue
		}
		for operation := range a.pump.Worker.Stats().Breakers {
			open[[2]string{a.name, operation}] = 0
		}
		for name, n := range a.stats() {
			if name == "in-flight" {
				gauge(to, "stepkeeper_agent_requests_in_flight", "Requests that an agent of this process works at.",
					float64(n), "agent", a.name)
				continue
			}
			put(to, prometheus.CounterValue, "stepkeeper_agent_requests_total",
				"Requests that an agent of this process ended, by outcome.", float64(n), "agent", a.name, "outcome", name)
		}
	}
	for _, o := range outages {
		if o.Code == core.CodeBreakerOpen {
			open[[2]string{o.Agent, o.Operation}] = 1
		}
	}
	for of, value := range open {
		gauge(to, "stepkeeper_breaker_open",
			"1 during an outage in which the circuit breaker of an operation is open.", value,
			"agent", of[0], "operation", of[1])
	}
}
