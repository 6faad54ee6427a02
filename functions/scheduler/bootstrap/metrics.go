package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// counts counts events by a name, such as an agent. It writes metrics only for batches that contain these
// events, because AWS bills each metric.
type counts struct {
	out               io.Writer
	log               *slog.Logger
	deployment        string
	now               func() time.Time
	metric, dimension string

	mu    sync.Mutex
	count map[string]int
}

// replied counts the replies of agents that did not call their service. A reply with the code not-yet does
// not count, because the agent has called the service (P45, "not now" is not a failure).
func (n *counts) replied(agent string, r core.Reply) {
	if r.Outcome == core.OutcomeRetryLater && core.Uncalled(r.Code) {
		n.add(agent)
	}
}

// unsent counts the statuses that could not be sent, by reply-to.
func (n *counts) unsent(what, why string) {
	if what == engine.StatusNotSent {
		n.add(why)
	}
}

func (n *counts) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[name]++
}

func (n *counts) counted(handle func(context.Context, string, []port.Delivery) []string) func(
	context.Context, string, []port.Delivery) []string {
	return func(ctx context.Context, queue string, deliveries []port.Delivery) []string {
		defer n.write()
		return handle(ctx, queue, deliveries)
	}
}

func (n *counts) write() {
	n.mu.Lock()
	count := n.count
	n.count = nil
	n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(count)) {
		err := lambdaevent.WriteMetrics(n.out, n.now(),
			[]string{deployment.MetricDeployment, n.dimension},
			map[string]string{n.metric: "Count"}, map[string]any{
				deployment.MetricDeployment: n.deployment, n.dimension: name, n.metric: count[name],
			})
		if err != nil {
			n.log.Error("a metric could not be written", "metric", n.metric, n.dimension, name, "error", err)
		}
	}
}
