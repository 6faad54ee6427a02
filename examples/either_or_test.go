package examples_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate/sim"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func eitherOrSubmitted(t *testing.T, swift, steady time.Duration) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "either-or/either-or.yaml")
	w.Agent("swift").On("take").Return(map[string]any{"at": "noon"}).After(swift)
	w.Agent("steady").On("take").Return(map[string]any{"at": "night"}).After(steady)
	w.Agent("swift").On("release").Return(nil)
	w.Agent("steady").On("release").Return(nil)
	w.Agent("mail").On("send").Return(nil)
	return w, w.Submit(map[string]any{"parcel": "P-1"})
}

func told(t *testing.T, run *workflowtest.Run) string {
	t.Helper()
	run.ExpectCalls("mail.send", 1)
	var in map[string]any
	require.NoError(t, run.Calls("mail.send")[0].Into(&in))
	text, err := json.Marshal(in)
	require.NoError(t, err)
	return string(text)
}

// The courier that is slower is asked to release the parcel that it has taken too late.
func TestTheFirstCourierTakesIt(t *testing.T) {
	_, run := eitherOrSubmitted(t, time.Second, 2*time.Second)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("steady.release", 1)
	run.ExpectCalls("swift.release", 0)
	require.JSONEq(t, `{"parcel":"P-1","by":"swift","pickup":"noon"}`, told(t, run))
}

// The customer keeps the parcel before the couriers have answered.
func TestTheCustomerKeepsIt(t *testing.T) {
	_, run := eitherOrSubmitted(t, 3*time.Second, 3*time.Second)
	require.True(t, run.Event("keep", "shop", true).Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("steady.release", 1)
	run.ExpectCalls("swift.release", 1)
	require.JSONEq(t, `{"parcel":"P-1","by":"kept","pickup":null}`, told(t, run))
	require.False(t, run.Event("keep", "shop", false).Accepted)
}

// If both couriers refuse, the order waits for the customer or for the time.
func TestNobodyTakesIt(t *testing.T) {
	w := workflowtest.New(t, "either-or/either-or.yaml")
	for _, courier := range []string{"swift", "steady"} {
		w.Agent(courier).On("take").Fail(workflowtest.Permanent("full", "no room"))
		w.Agent(courier).On("release").Return(nil)
	}
	w.Agent("mail").On("send").Return(nil)
	run := w.Submit(map[string]any{"parcel": "P-1"})
	run.UntilEnd(3 * time.Hour)
	run.ExpectProcessed()
	require.JSONEq(t, `{"parcel":"P-1","by":"nobody","pickup":null}`, told(t, run))
}

// A courier that says it is fenced and is not: it takes the parcel after it has released it.
func TestACourierThatDoesNotFence(t *testing.T) {
	sim.Check(t, "either-or/either-or.yaml", sim.Order(`{"parcel":"P-1"}`),
		sim.With(sim.Services{"steady": {Grade: "idempotent"}}), sim.Breaks("11"))
}
