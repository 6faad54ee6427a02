package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func phoneAsked(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "phone/phone.yaml")
	w.Agent("sms").On("challenge").Return(map[string]any{"code": 4711})
	run := w.Submit(map[string]any{"phone": "+351 1"})
	w.Advance(time.Second)
	return w, run
}

func typed(t *testing.T, w *workflowtest.Workflow, run *workflowtest.Run, code int) {
	t.Helper()
	v := run.Event("code", "app", code)
	require.True(t, v.Accepted, v.Reason)
	w.Advance(time.Second)
}

func TestTheThirdTryIsRight(t *testing.T) {
	w, run := phoneAsked(t)
	typed(t, w, run, 1)
	typed(t, w, run, 2)
	typed(t, w, run, 4711)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("sms.challenge", 1)
}

func TestFourTriesAreAll(t *testing.T) {
	w, run := phoneAsked(t)
	for range 4 {
		typed(t, w, run, 1)
	}
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.False(t, run.Event("code", "app", 4711).Accepted)
}

// The 90 seconds are for all tries together, and a wrong one gives no more time.
func TestTheTimeIsOver(t *testing.T) {
	w, run := phoneAsked(t)
	w.Advance(80 * time.Second)
	typed(t, w, run, 1)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.Less(t, w.Now().Sub(workflowtest.Start), 100*time.Second)
	require.False(t, run.Event("code", "app", 4711).Accepted)
}
