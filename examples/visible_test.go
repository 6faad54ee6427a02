package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// written returns a workflow whose name server gives these addresses, one after the other, and the last one for ever.
func written(t *testing.T, addresses ...any) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "visible/visible.yaml").AllowUnscripted()
	read := w.Agent("dns").On("read")
	for _, address := range addresses {
		read.Return(map[string]any{"address": address})
	}
	return w, w.Submit(map[string]any{"name": "shop.example", "address": "192.0.2.7"}).UntilEnd(time.Hour)
}

// It is seen at the third look, two minutes after it was written.
func TestItIsSeenLater(t *testing.T) {
	w, run := written(t, nil, "192.0.2.1", "192.0.2.7")
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"reads": 3})
	require.InDelta(t, 2, w.Now().Sub(workflowtest.Start).Minutes(), 0.1)
}

func TestItIsNeverSeen(t *testing.T) {
	_, run := written(t, "192.0.2.1")
	run.ExpectCompensated()
	run.ExpectCalls("dns.read", 10)
	run.ExpectCalls("dns.delete", 1)
	require.Equal(t, "exhausted", run.Task().Error.Code)
}
