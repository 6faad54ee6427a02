package examples_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// quorum returns the workflow, the operation of its processes, and an order.
func quorum(t *testing.T) (*workflowtest.Workflow, *workflowtest.Operation, json.RawMessage) {
	w := workflowtest.New(t, "quorum/quorum.yaml").AllowUnscripted()
	return w, w.Agent("worker").On("process"),
		json.RawMessage(`{"quorum":2,"processes":[{"name":"north"},{"name":"south"},{"name":"west"}]}`)
}

// The order goes on with the second that ends. The slowest one is discarded.
func TestTheQuorumDecides(t *testing.T) {
	w, process, order := quorum(t)
	process.Return("a").After(2 * time.Second).Return("b").After(4 * time.Second).Return("c").After(time.Second)
	run := w.Submit(order).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"won": []int{2, 0}})
	require.JSONEq(t, `{"won":[2,0],"results":["a",null,"c"]}`, string(run.Calls("ledger.record")[0].Input))
	run.ExpectCalls("worker.discard", 1)
	run.Child("vote", 1).ExpectCompensated()
}

// One may fail. The other two are then the quorum.
func TestOneProcessFails(t *testing.T) {
	w, process, order := quorum(t)
	process.Fail(workflowtest.Permanent("full", "no room")).Return("b").Return("c")
	run := w.Submit(order).UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.JSONEq(t, `{"won":[1,2],"results":[null,"b","c"]}`, string(run.Calls("ledger.record")[0].Input))
}

// Without a quorum everything is discarded.
func TestNoQuorum(t *testing.T) {
	w, process, order := quorum(t)
	process.FailTimes(2, workflowtest.Permanent("full", "no room")).Return("c").After(time.Second)
	run := w.Submit(order).UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("ledger.record", 0)
	require.Equal(t, "children-failed", run.Step("vote").Error.Code)
}

// A whole number of JSON may have a point.
func TestTheQuorumHasAPoint(t *testing.T) {
	w, _, _ := quorum(t)
	run := w.Submit(json.RawMessage(`{"quorum":1.0,"processes":[{"name":"north"}]}`)).UntilEnd(time.Minute)
	run.ExpectProcessed()
}

// A quorum that is more than the processes is a mistake of the order.
func TestAQuorumThatCannotBe(t *testing.T) {
	w, _, _ := quorum(t)
	run := w.Submit(json.RawMessage(`{"quorum":3,"processes":[{"name":"north"}]}`)).UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("worker.process", 0)
	require.Equal(t, "expression", run.Step("vote").Error.Code)
}
