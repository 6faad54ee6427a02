package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func ordered(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "food/food.yaml").AllowUnscripted()
	w.Agent("drivers").On("assign").Fail(workflowtest.NotYet(time.Minute)).Return(map[string]any{"name": "dan"})
	return w, w.Submit(map[string]any{"total": 31, "delay": "20m", "meals": []string{"soup"}})
}

// The kitchen begins after the delay, and no driver is asked for before the meal is ready.
func TestAMealIsDelivered(t *testing.T) {
	w, run := ordered(t)
	w.Advance(19 * time.Minute)
	run.ExpectCalls("restaurant.prepare", 0)
	run.UntilStep("prepared", workflowtest.Waiting, 2*time.Minute)
	run.ExpectCalls("drivers.assign", 0)
	require.True(t, run.Event("prepared", "app", true).Accepted)
	run.UntilStep("picked-up", workflowtest.Waiting, 10*time.Minute)
	run.ExpectCalls("drivers.assign", 2)
	require.True(t, run.Event("picked-up", "app", true).Accepted)
	require.True(t, run.Event("delivered", "app", true).Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("payment.charge", 1)
}

// Nobody picks the meal up: the customer gets the money back.
func TestNobodyPicksItUp(t *testing.T) {
	_, run := ordered(t)
	require.True(t, run.Event("prepared", "app", true).Accepted)
	run.UntilEnd(3 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("payment.refund", 1)
	run.ExpectCalls("drivers.release", 1)
	run.ExpectCalls("restaurant.dispose", 1)
}

// A meal that was picked up and never arrived is for a person to look after.
func TestItNeverArrives(t *testing.T) {
	_, run := ordered(t)
	require.True(t, run.Event("prepared", "app", true).Accepted)
	require.True(t, run.Event("picked-up", "app", true).Accepted)
	run.UntilEnd(4 * time.Hour)
	run.ExpectError("delivered")
	require.Len(t, run.Alerts(), 1)
}
