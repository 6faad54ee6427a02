package examples_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const foodOrder = `{"total":31,"delay":"20m","meals":["soup"]}`

func ordered(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "food/food.yaml").AllowUnscripted()
	w.Agent("drivers").On("assign").Fail(workflowtest.NotYet(time.Minute)).Return(map[string]any{"name": "dan"})
	return w, w.Submit(json.RawMessage(foodOrder))
}

func reported(t *testing.T, run *workflowtest.Run, event string) {
	t.Helper()
	v := run.Event(event, "app", true)
	require.True(t, v.Accepted, v.Reason)
}

// The kitchen begins after the delay, and no driver is asked for before the meal is ready.
func TestAMealIsDelivered(t *testing.T) {
	w, run := ordered(t)
	w.Advance(19 * time.Minute)
	run.ExpectCalls("restaurant.prepare", 0)
	run.UntilStep("prepared", workflowtest.Waiting, 2*time.Minute)
	run.ExpectCalls("drivers.assign", 0)
	reported(t, run, "prepared")
	run.UntilStep("picked-up", workflowtest.Waiting, 10*time.Minute)
	run.ExpectCalls("drivers.assign", 2)
	reported(t, run, "picked-up")
	reported(t, run, "delivered")
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("payment.charge", 1)
}

// Nobody picks the meal up: the customer gets the money back.
func TestNobodyPicksItUp(t *testing.T) {
	_, run := ordered(t)
	reported(t, run, "prepared")
	run.UntilEnd(3 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("payment.refund", 1)
	run.ExpectCalls("drivers.release", 1)
	run.ExpectCalls("restaurant.dispose", 1)
}

// A meal that was picked up and never arrived is for a person to look after.
func TestItNeverArrives(t *testing.T) {
	_, run := ordered(t)
	reported(t, run, "prepared")
	reported(t, run, "picked-up")
	run.UntilEnd(4 * time.Hour)
	run.ExpectError("delivered")
	require.Len(t, run.Alerts(), 1)
}
