package cloud

import (
	"cmp"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// maxValues is the largest number of values of one metric in a line of the embedded metric format.
const maxValues = 100

// Metrics counts what happens in an invocation. It writes a metric only if it has counted something, because AWS bills
// each metric. If the process ends before Write, the counts are lost.
type Metrics struct {
	deployment string
	out        io.Writer
	log        *slog.Logger

	mu     sync.Mutex
	counts map[counted][]int64 // a value for each thing that was counted
}

// counted is a metric and its dimensions: one with a name, and for ended orders the state too.
type counted struct{ metric, dimension, name, state string }

// Count counts one thing for a metric, such as a call that an agent did not make.
func (m *Metrics) Count(metric, dimension, name string) {
	m.add(counted{metric: metric, dimension: dimension, name: name}, 0)
}

// committed implements state.Config.OnCommit. It counts the ends of orders and the stops in Error, each at most once,
// after the commit that records its report (P11, an end is reported until settled). It does not count a Cancel that
// came before its order, because the task of this Cancel has no workflow.
func (m *Metrics) committed(c state.Change) {
	if c.Rested() && !c.Task.IsTombstone() {
		m.add(counted{
			deployment.MetricEnded, deployment.MetricWorkflow, c.Task.Workflow, string(c.Task.ProcessState),
		}, max(0, c.Task.End.At.Sub(c.Task.Created).Std().Milliseconds()))
	}
}

func (m *Metrics) add(of counted, value int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[of] = append(m.counts[of], value)
}

// Write writes the counts of this invocation. It writes no duration for Error, because an operator can resume
// the order.
func (m *Metrics) Write() {
	m.mu.Lock()
	counts := m.counts
	m.counts = map[counted][]int64{}
	m.mu.Unlock()
	order := func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.name, b.name), cmp.Compare(a.state, b.state))
	}
	for _, of := range slices.SortedFunc(maps.Keys(counts), order) {
		for values := range slices.Chunk(counts[of], maxValues) {
			dimensions := []string{deployment.MetricDeployment, of.dimension}
			units := map[string]string{of.metric: "Count"}
			fields := map[string]any{
				deployment.MetricDeployment: m.deployment, of.dimension: of.name, of.metric: len(values),
			}
			if of.state != "" {
				dimensions = append(dimensions, deployment.MetricState)
				fields[deployment.MetricState] = of.state
			}
			if of.state != "" && of.state != string(core.Error) {
				units[deployment.MetricOrderDuration] = "Milliseconds"
				fields[deployment.MetricOrderDuration] = values
			}
			if err := lambdaevent.WriteMetrics(m.out, time.Now(), dimensions, units, fields); err != nil {
				m.log.Error("a metric could not be written", "metric", of.metric, of.dimension, of.name, "state", of.state,
					"count", len(values), "error", err)
			}
		}
	}
}
