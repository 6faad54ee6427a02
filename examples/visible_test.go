package examples_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const visibleOrder = `{"name":"shop.example","address":"192.0.2.7"}`

func written(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "visible/visible.yaml")
	w.Agent("dns").On("write").Return(nil)
	w.Agent("dns").On("delete").Return(nil)
	w.Agent("dns").On("read").Return(map[string]any{"address": "192.0.2.1"})
	return w
}

// It is seen at the third look, two minutes after it was written.
func TestItIsSeenLater(t *testing.T) {
	w := written(t)
	w.Agent("dns").On("read").Return(map[string]any{"address": nil}).
		Return(map[string]any{"address": "192.0.2.1"}).Return(map[string]any{"address": "192.0.2.7"})
	run := w.Submit(json.RawMessage(visibleOrder))
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"reads": 3})
	require.InDelta(t, 2, w.Now().Sub(workflowtest.Start).Minutes(), 0.1)
}

func TestItIsNeverSeen(t *testing.T) {
	run := written(t).Submit(json.RawMessage(visibleOrder))
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("dns.read", 10)
	run.ExpectCalls("dns.delete", 1)
	require.Equal(t, "exhausted", run.Task().Error.Code)
}
