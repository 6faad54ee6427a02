package wiring

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
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// notCalled counts, by agent, the replies of agents that did not call their service. It writes metrics only
// for batches that contain these replies, because AWS bills each metric. A reply with the code not-yet does
// not count, because the agent has called the service (P45, "not now" is not a failure).
type notCalled struct {
	out        io.Writer
	log        *slog.Logger
	deployment string
	now        func() time.Time

	mu    sync.Mutex
	count map[string]int
}

func (n *notCalled) replied(agent string, r core.Reply) {
	if r.Outcome != core.OutcomeRetryLater || !core.Uncalled(r.Code) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[agent]++
}

func (n *notCalled) counted(handle func(context.Context, string, []port.Delivery) []string) func(
	context.Context, string, []port.Delivery) []string {
	return func(ctx context.Context, queue string, deliveries []port.Delivery) []string {
		defer n.write()
		return handle(ctx, queue, deliveries)
	}
}

func (n *notCalled) write() {
	n.mu.Lock()
	count := n.count
	n.count = nil
	n.mu.Unlock()
	for _, agent := range slices.Sorted(maps.Keys(count)) {
		err := lambdaevent.WriteMetrics(n.out, n.now(),
			[]string{deployment.MetricDeployment, deployment.MetricAgent},
			map[string]string{deployment.MetricNotCalled: "Count"}, map[string]any{
				deployment.MetricDeployment: n.deployment, deployment.MetricAgent: agent,
				deployment.MetricNotCalled: count[agent]})
		if err != nil {
			n.log.Error("the metric of an agent that makes no calls could not be written", "agent", agent,
				"error", err)
		}
	}
}
