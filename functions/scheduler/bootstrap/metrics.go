package main

import (
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
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

// replied counts a reply of an agent that did not call its service. A reply with the code not-yet does not count,
// because the agent has called the service (P45, "not now" is not a failure).
func (n *counts) replied(r scheduler.Replied) {
	if r.Outcome == core.OutcomeRetryLater && core.Uncalled(r.Code) {
		n.add(r.Agent)
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
