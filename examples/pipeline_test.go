package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func studio(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "pipeline/pipeline.yaml")
	for operation, output := range map[string]any{
		"read": map[string]any{"text": "a tale"}, "translate": map[string]any{"text": "um conto"},
		"proof-read": map[string]any{"text": "um conto."}, "draw": map[string]any{"picture": "p"},
		"print": map[string]any{"plates": 2}, "bind": map[string]any{"book": "B-1"}, "shred": nil,
	} {
		w.Agent("studio").On(operation).Return(output).After(time.Second)
	}
	return w
}

// Six steps of a second take four, because the branches work beside each other.
func TestTheBranchesAreJoined(t *testing.T) {
	w := studio(t)
	run := w.Submit(map[string]any{"name": "tale", "language": "pt"})
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.InDelta(t, 4, w.Now().Sub(workflowtest.Start).Seconds(), 0.1)
	require.JSONEq(t, `{"text":"um conto.","plates":2}`, string(run.Calls("studio.bind")[0].Input))
	run.ExpectOutput(map[string]any{"book": "B-1"})
}

// One branch fails: the other one is undone with it, and nothing is joined.
func TestABranchFails(t *testing.T) {
	w := studio(t)
	w.Agent("studio").On("proof-read").Fail(workflowtest.Permanent("unreadable", "this is no language"))
	run := w.Submit(map[string]any{"name": "tale", "language": "xx"})
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("studio.bind", 0)
	run.ExpectCalls("studio.shred", 1)
}
