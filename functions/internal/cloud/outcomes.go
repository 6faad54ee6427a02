package cloud

import (
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

// Outcomes counts the ends of orders, and the stops of orders in Error. Each end and each stop counts
// at most once, after the commit that records its report (P11, an end is reported until settled). If
// the process ends between the commit and Write, the count is lost. A nil *Outcomes counts nothing.
type Outcomes struct {
	deployment string
	out        io.Writer
	log        *slog.Logger

	mu        sync.Mutex
	durations map[[2]string][]int64 // milliseconds by workflow and state
}

// committed implements state.Config.OnCommit. It does not count a Cancel that came before its order, because
// the task of this Cancel has no workflow.
func (o *Outcomes) committed(c state.Change) {
	if o == nil || !c.Rested() || c.Task.IsTombstone() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	of := [2]string{c.Task.Workflow, string(c.Task.ProcessState)}
	o.durations[of] = append(o.durations[of], max(0, c.Task.End.At.Sub(c.Task.Created).Std().Milliseconds()))
}

// Write writes the counts of this invocation. It writes no duration for Error, because an operator can resume
// the order.
func (o *Outcomes) Write() {
	if o == nil {
		return
	}
	o.mu.Lock()
	durations := o.durations
	o.durations = map[[2]string][]int64{}
	o.mu.Unlock()
	byName := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, of := range slices.SortedFunc(maps.Keys(durations), byName) {
		for values := range slices.Chunk(durations[of], maxValues) {
			units := map[string]string{deployment.MetricEnded: "Count"}
			fields := map[string]any{
				deployment.MetricDeployment: o.deployment,
				deployment.MetricWorkflow:   of[0], deployment.MetricState: of[1],
				deployment.MetricEnded: len(values),
			}
			if of[1] != string(core.Error) {
				units[deployment.MetricOrderDuration] = "Milliseconds"
				fields[deployment.MetricOrderDuration] = values
			}
			if err := lambdaevent.WriteMetrics(o.out, time.Now(), []string{
				deployment.MetricDeployment,
				deployment.MetricWorkflow, deployment.MetricState,
			}, units, fields); err != nil {
				o.log.Error("the metrics of ended orders could not be written", "workflow", of[0], "state",
					of[1], "orders", len(values), "error", err)
			}
		}
	}
}
