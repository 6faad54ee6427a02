package examples_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const quorumOrder = `{"quorum":2,"processes":[{"name":"north"},{"name":"south"},{"name":"west"}]}`

func quorum(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "quorum/quorum.yaml")
	w.Agent("worker").On("discard").Return(nil)
	w.Agent("ledger").On("record").Return(nil)
	return w
}

func recorded(t *testing.T, run *workflowtest.Run) string {
	t.Helper()
	run.ExpectCalls("ledger.record", 1)
	var in json.RawMessage
	require.NoError(t, run.Calls("ledger.record")[0].Into(&in))
	return string(in)
}

// The order goes on with the second that ends. The slowest one is discarded.
func TestTheQuorumDecides(t *testing.T) {
	w := quorum(t)
	w.Agent("worker").On("process").
		Return("a").After(2 * time.Second).
		Return("b").After(4 * time.Second).
		Return("c").After(time.Second)
	run := w.Submit(json.RawMessage(quorumOrder))
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"won": []int{2, 0}})
	require.JSONEq(t, `{"won":[2,0],"results":["a",null,"c"]}`, recorded(t, run))
	run.ExpectCalls("worker.discard", 1)
	require.Equal(t, workflowtest.State("Compensated"), run.Child("vote", 1).State())
	require.Equal(t, workflowtest.State("Processed"), run.Child("vote", 2).State())
}

// One may fail. The other two are then the quorum.
func TestOneProcessFails(t *testing.T) {
	w := quorum(t)
	w.Agent("worker").On("process").
		Fail(workflowtest.Permanent("full", "no room")).
		Return("b").Return("c")
	run := w.Submit(json.RawMessage(quorumOrder))
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.JSONEq(t, `{"won":[1,2],"results":[null,"b","c"]}`, recorded(t, run))
}

// Without a quorum everything is discarded.
func TestNoQuorum(t *testing.T) {
	w := quorum(t)
	w.Agent("worker").On("process").
		Fail(workflowtest.Permanent("full", "no room")).
		Fail(workflowtest.Permanent("full", "no room")).
		Return("c").After(time.Second)
	run := w.Submit(json.RawMessage(quorumOrder))
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("ledger.record", 0)
	require.Equal(t, "children-failed", run.Step("vote").Error.Code)
}

// While the slowest one is discarded, the order is cancelled: the quorum is discarded too.
func TestACancelAfterTheDecision(t *testing.T) {
	w := quorum(t)
	w.Agent("worker").On("process").Return("a").Return("b").Return("c").After(4 * time.Second)
	w.Agent("worker").On("discard").Return(nil).After(2 * time.Second)
	w.Agent("ledger").On("record").Return(nil).After(4 * time.Second)
	run := w.Submit(json.RawMessage(quorumOrder))
	run.UntilStep("vote", "Settling", time.Minute)
	require.True(t, run.Cancel().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCancelled()
	for n := range 3 {
		require.Equal(t, workflowtest.State("Compensated"), run.Child("vote", n).State(), "%+v", n)
	}
}

// A quorum that is more than the processes is a mistake of the order.
func TestAQuorumThatCannotBe(t *testing.T) {
	run := quorum(t).Submit(json.RawMessage(`{"quorum":3,"processes":[{"name":"north"}]}`))
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("worker.process", 0)
	require.Equal(t, "expression", run.Step("vote").Error.Code)
}
