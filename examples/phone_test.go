package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// typed returns an order to which the customer typed these codes, one a second.
func typed(t *testing.T, codes ...int) (*workflowtest.Workflow, *workflowtest.Run) {
	t.Helper()
	w := workflowtest.New(t, "phone/phone.yaml").AllowUnscripted()
	w.Agent("sms").On("challenge").Return(map[string]any{"code": 4711})
	run := w.Submit(map[string]any{"phone": "+351 1"})
	w.Advance(time.Second)
	for _, code := range codes {
		require.True(t, run.Event("code", "app", code).Accepted)
		w.Advance(time.Second)
	}
	return w, run
}

func TestTheThirdTryIsRight(t *testing.T) {
	_, run := typed(t, 1, 2, 4711)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("sms.challenge", 1)
}

func TestFourTriesAreAll(t *testing.T) {
	_, run := typed(t, 1, 1, 1, 1)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.False(t, run.Event("code", "app", 4711).Accepted)
}

// The 90 seconds are for all tries together, and a wrong one gives no more time.
func TestTheTimeIsOver(t *testing.T) {
	w, run := typed(t)
	w.Advance(80 * time.Second)
	require.True(t, run.Event("code", "app", 1).Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.Less(t, w.Now().Sub(workflowtest.Start), 100*time.Second)
}
