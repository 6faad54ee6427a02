package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func jobSubmitted(t *testing.T) (*workflowtest.Workflow, *workflowtest.Operation) {
	w := workflowtest.New(t, "job/job.yaml")
	w.Agent("cluster").On("submit").Return(map[string]any{"job": "j-1"})
	w.Agent("cluster").On("delete").Return(nil)
	return w, w.Agent("cluster").On("result")
}

func TestTheResultComesLater(t *testing.T) {
	w, result := jobSubmitted(t)
	result.FailTimes(5, workflowtest.NotYet(10*time.Minute)).Return(map[string]any{"result": "ok"})
	run := w.Submit(map[string]any{"image": "i"}).UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"result": "ok"})
	run.ExpectCalls("cluster.result", 6)
	require.Zero(t, run.Step("ended").Failures)
}

// The cluster is away for a while: that is a failure each time, and not the job's.
func TestTheClusterIsAwayForAWhile(t *testing.T) {
	w, result := jobSubmitted(t)
	result.Fail(workflowtest.NotYet(time.Minute)).FailTimes(2, workflowtest.Transient("away", "connection refused")).
		Return(map[string]any{"result": "ok"})
	run := w.Submit(map[string]any{"image": "i"}).UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
}

func TestAJobThatFails(t *testing.T) {
	w, result := jobSubmitted(t)
	result.Fail(workflowtest.NotYet(time.Minute)).Fail(workflowtest.Permanent("job-failed", "exit status 1"))
	run := w.Submit(map[string]any{"image": "i"}).UntilEnd(2 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("cluster.delete", 1)
	require.Equal(t, "job-failed", run.Task().Error.Code)
}

func TestAJobThatDoesNotEnd(t *testing.T) {
	w, result := jobSubmitted(t)
	result.FailTimes(10_000, workflowtest.NotYet(time.Hour))
	run := w.Submit(map[string]any{"image": "i"}).UntilEnd(26 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("cluster.delete", 1)
	require.Equal(t, "not-yet", run.Task().Error.Code)
}
