package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// manySteps is a workflow whose steps run in a row or all at once; what fails in its second half stops the
// order.
func manySteps(n int, row bool) string {
	var b strings.Builder
	b.WriteString("workflow: pair\nagents:\n  shop: {queueAllowance: 30s, clockSkew: 10ms}\nsteps:\n")
	for i := range n {
		after := ""
		policy := "undo"
		if row && i > 0 {
			after = fmt.Sprintf(", after: [s%03d]", i-1)
		}
		if i >= n/2 {
			policy = "stop"
		}
		fmt.Fprintf(&b,
			"  s%03d: {agent: shop, operation: do%s, timeout: 60s, onFailure: %s, undo: undo, grade: "+
				"fenced, retry: {maxFailures: 1}}\n", i, after, policy)
	}
	return b.String()
}

// P28: orders whose outputs come near what a document holds end, or stop with a failure that says why;
// and they answer every command, whatever their documents hold.
func TestOrdersNearTheLimitOfTheirDocumentEnd(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		steps, orders         int
		row                   bool
		smallest, most, large int // bytes of an output; of how many documents one is more than fits
	}{
		{"30 steps in a row", 30, 6, true, 0, 26_000, 2},
		{"60 steps at once", 60, 1, false, 5_800, 6_200, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() {
				tt.orders = tt.large
			}
			w := newFixture(t, "60s")
			w.write(manySteps(tt.steps, tt.row))
			w.options.Operations = map[string]worker.Operations{
				"shop": {worker.AnyOperation: {Run: func(_ context.Context, c worker.Call) (any, error) {
					if c.Operation == core.UndoOp {
						return nil, nil
					}
					h := fnv.New32a() // the same size for a key in each run
					_, _ = h.Write([]byte(c.Key))
					return json.RawMessage(`"` + strings.Repeat("x",
						tt.smallest+int(h.Sum32())%(tt.most-tt.smallest)) + `"`), nil
				}}},
			}
			s := w.open()
			defer closeRuntime(t, s)
			for i := range tt.orders {
				submit(t, s, fmt.Sprintf("o-%d", i), "")
			}
			ends := map[core.State]int{}
			large := 0
			for i := range tt.orders {
				id := fmt.Sprintf("o-%d", i)
				n := 0
				task := wait(t, s, id)
				ends[task.ProcessState]++
				for _, step := range task.Steps {
					if step.Error != nil && step.Error.Code == "output-too-large" {
						large++
						break
					}
				}
				send := func(c message.Control) protocol.Verdict {
					t.Helper()
					n++
					given := core.CommandOf(c.Event)
					c.OrderID = id
					c.Event = core.Stamped(c.Event, fmt.Sprintf("%0120d-%d", i, n), given.Sender,
						given.Number)
					v, err := s.Command(t.Context(), c)
					require.NoError(t, err)
					return v
				}
				for range 10 { // each is refused, and its verdict is kept
					v := send(message.Control{Event: core.Command{Name: core.Resubmit, Number: 99}})
					require.False(t, v.Accepted, "%s: a resubmit of another number: %+v", id, v)
					require.NotEmpty(t, v.Reason)
				}
				if task.ProcessState != core.Error {
					continue
				}
				require.Equal(t, "output-too-large", task.Reason.Code)
				require.Contains(t, task.Reason.Text, "reference")
				undo := core.Command{Name: core.UndoCommand, Number: 100} // the refusals have raised the number
				require.True(t, send(message.Control{Event: undo}).Accepted)
				task, err := s.Wait(t.Context(), id, func(t *protocol.Task) bool {
					return t.Terminal()
				})
				require.NoError(t, err)
				require.Equal(t, core.Compensated, task.ProcessState)
			}
			require.GreaterOrEqual(t, large, tt.large, tt.large)
			t.Logf("%d of %d orders met the limit; ends %v", large, tt.orders, ends)
		})
	}
}
