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
	w := workflowtest.New(t, "made-to-order/made-to-order.yaml")
	w.Agent("shop").On("reserve").Return(map[string]any{"lot": "L-7"})
	w.Agent("shop").On("return").Return(nil)
	w.Agent("shop").On("ship").Return(nil)
	w.Agent("workshop").On("build").Return(map[string]any{"piece": "T-1"}).After(3 * time.Second)
	w.Agent("workshop").On("dismantle").Return(nil)
	return w, w.Submit(map[string]any{"model": "table", "wood": "oak"})
}

// The steps of the block are calls of the order made-to-order~made-ready, and what they return reaches the order.
func TestItIsMadeAndShipped(t *testing.T) {
	_, run := madeSubmitted(t)
	run.UntilEnd(50 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("shop.ship", 1)
	var in map[string]any
	require.NoError(t, run.Calls("shop.ship")[0].Into(&in))
	require.Equal(t, map[string]any{"piece": "T-1"}, in)
}

// The withdrawal undoes the block as a whole, also the call that is under way.
func TestTheCustomerWithdraws(t *testing.T) {
	w, run := madeSubmitted(t)
	w.Advance(time.Second)
	child := run.Child("made-ready", 0)
	child.UntilStep("build", workflowtest.Processing, 49*time.Hour)
	require.True(t, run.Event("withdraw", "shop", true).Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("shop.ship", 0)
	child.ExpectCompensated()
	child.ExpectUndone("dry", "build", "reserve")
}

// The order moves to the corrected file, and so does the order of its block, by a command of its own.
func TestTheBlockIsCorrected(t *testing.T) {
	w, run := madeSubmitted(t)
	w.Advance(time.Second)
	file, err := os.ReadFile("made-to-order/made-to-order.yaml")
	require.NoError(t, err)
	w.DeployYAML(strings.Replace(string(file), "{model: \"${ order.model }\", wood: \"${ steps.reserve",
		"{model: \"${ order.model }\", finish: oil, wood: \"${ steps.reserve", 1))
	require.True(t, run.Move().Accepted)
	require.True(t, run.Child("made-ready", 0).Move().Accepted)
	run.UntilEnd(50 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("workshop.build", 1)
	var in map[string]any
	require.NoError(t, run.Calls("workshop.build")[0].Into(&in))
	require.Equal(t, map[string]any{"model": "table", "wood": "L-7", "finish": "oil"}, in)
}
