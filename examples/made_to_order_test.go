package examples_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func madeSubmitted(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "made-to-order/made-to-order.yaml").AllowUnscripted()
	w.Agent("shop").On("reserve").Return(map[string]any{"lot": "L-7"})
	w.Agent("workshop").On("build").Return(map[string]any{"piece": "T-1"}).After(3 * time.Second)
	run := w.Submit(map[string]any{"model": "table", "wood": "oak"})
	w.Advance(time.Second)
	return w, run
}

// The withdrawal undoes the block as a whole, also the call that is under way.
func TestTheCustomerWithdraws(t *testing.T) {
	_, run := madeSubmitted(t)
	child := run.Child("made-ready", 0)
	child.UntilStep("build", workflowtest.Processing, 49*time.Hour)
	require.True(t, run.Event("withdraw", "shop", true).Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("shop.ship", 0)
	child.ExpectCompensated()
	child.ExpectUndone("dry", "build", "reserve")
}

// The steps of the block are calls of the order made-to-order~made-ready, and what they return reaches the order. On
// its way the order moves to the corrected file, and so does the order of its block, by a command of its own.
func TestTheBlockIsCorrectedAndShipped(t *testing.T) {
	w, run := madeSubmitted(t)
	file, err := os.ReadFile("made-to-order/made-to-order.yaml")
	require.NoError(t, err)
	w.DeployYAML(strings.Replace(string(file), "{model: \"${ order.model }\", wood: \"${ steps.reserve",
		"{model: \"${ order.model }\", finish: oil, wood: \"${ steps.reserve", 1))
	require.True(t, run.Move().Accepted)
	require.True(t, run.Child("made-ready", 0).Move().Accepted)
	run.UntilEnd(50 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("workshop.build", 1)
	require.JSONEq(t, `{"model":"table","wood":"L-7","finish":"oil"}`, string(run.Calls("workshop.build")[0].Input))
	run.ExpectCalls("shop.ship", 1)
	require.JSONEq(t, `{"piece":"T-1"}`, string(run.Calls("shop.ship")[0].Input))
}
