package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const month = 30 * 24 * time.Hour

func subscribed(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "subscription/subscription.yaml").AllowUnscripted()
	return w, w.Submit(map[string]any{"customer": "ann", "period": 1})
}

// Each period charges once, and submits the next one at its end.
func TestAPeriodSubmitsTheNext(t *testing.T) {
	w, run := subscribed(t)
	w.Advance(month - time.Hour)
	run.ExpectCalls("billing.submit", 0)
	run.UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("payment.charge", 1)
	run.ExpectCalls("billing.submit", 1)
	require.JSONEq(t, `{"id":"ann-2","customer":"ann","period":2}`, string(run.Calls("billing.submit")[0].Input))
}

// The customer cancels, and there is no next period.
func TestTheLastPeriod(t *testing.T) {
	w, run := subscribed(t)
	w.Advance(month / 2)
	require.True(t, run.Event("cancelled", "ann", true).Accepted)
	run.UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("billing.submit", 0)
}
