package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/orderagent"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

const starting = `workflow: sale
steps:
  survey: {agent: follow-up, operation: slow, input: {n: "${ order.n }"}, timeout: 5s, onFailure: undo,
    undo: cancel, grade: fenced}
  last: {agent: shop, operation: second, after: [survey], timeout: 5s, onFailure: undo, undo: none, grade: fenced}
`

// A step starts an order of another workflow and does not wait for it. If the step is undone, that order is
// cancelled.
func TestAStepStartsAnOrder(t *testing.T) {
	survey := orderagent.ID(core.Key("o-1", 0, "survey"))
	for name, c := range map[string]struct {
		refuse        bool
		sale, started core.State
	}{
		"done":   {false, core.Processed, core.Processing},
		"undone": {true, core.Compensated, core.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, "5s")
			w.shop.refuse.Store(c.refuse)
			w.agents("follow-up: {orders: true}")
			w.writeAs("sale.yaml", starting)
			w.writeAs("slow.yaml", "workflow: slow\nsteps:\n  w: {wait: 1d}\n")
			s := w.open()
			defer closeRuntime(t, s)
			o := order(t, "o-1", "")
			o.Workflow = "sale"
			require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
			eventually(t, "the sale ends", func() bool { return stateOf(t, s, "o-1") == c.sale })
			eventually(t, "the survey is as the sale left it", func() bool { return stateOf(t, s, survey) == c.started })
		})
	}
}

// stateOf returns the state of an order, or "" if it does not exist.
func stateOf(t *testing.T, s *embedded.Runtime, id string) core.State {
	t.Helper()
	task, _, err := s.Task(t.Context(), id)
	if err != nil {
		return ""
	}
	return task.ProcessState
}
