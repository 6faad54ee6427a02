package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func job(t *testing.T) (*workflowtest.Workflow, *workflowtest.Operation) {
	w := workflowtest.New(t, "job/job.yaml").AllowUnscripted()
	w.Agent("cluster").On("submit").Return(map[string]any{"job": "j-1"})
	return w, w.Agent("cluster").On("result")
}

// The cluster is away for a while: that is a failure each time, and not the job's.
func TestTheResultComesLater(t *testing.T) {
	w, result := job(t)
	result.FailTimes(5, workflowtest.NotYet(10*time.Minute)).
		FailTimes(2, workflowtest.Transient("away", "connection refused")).
		Return(map[string]any{"result": "ok"})
	run := w.Submit(map[string]any{"image": "i"}).UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"result": "ok"})
	run.ExpectCalls("cluster.result", 8)
	require.Equal(t, 2, run.Step("ended").Failures)
}

func TestAJobThatFails(t *testing.T) {
	for code, fail := range map[string]error{
		"job-failed": workflowtest.Permanent("job-failed", "exit status 1"),
		"not-yet":    workflowtest.NotYet(time.Hour), // for more than a day
	} {
		w, result := job(t)
		result.FailTimes(10_000, fail)
		run := w.Submit(map[string]any{"image": "i"}).UntilEnd(26 * time.Hour)
		run.ExpectCompensated()
		run.ExpectCalls("cluster.delete", 1)
		require.Equal(t, code, run.Task().Error.Code)
	}
}
