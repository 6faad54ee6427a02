package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate/sim"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func eitherOrSubmitted(t *testing.T, swift, steady time.Duration) *workflowtest.Run {
	w := workflowtest.New(t, "either-or/either-or.yaml").AllowUnscripted()
	w.Agent("swift").On("take").Return(map[string]any{"at": "noon"}).After(swift)
	w.Agent("steady").On("take").Return(map[string]any{"at": "night"}).After(steady)
	return w.Submit(map[string]any{"parcel": "P-1"})
}

// told expects one mail, and returns it.
func told(t *testing.T, run *workflowtest.Run) string {
	t.Helper()
	run.UntilEnd(3 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.send", 1)
	return string(run.Calls("mail.send")[0].Input)
}

// The courier that is slower is asked to release the parcel that it has taken too late.
func TestTheFirstCourierTakesIt(t *testing.T) {
	run := eitherOrSubmitted(t, time.Second, 2*time.Second)
	require.JSONEq(t, `{"parcel":"P-1","by":"swift","pickup":"noon"}`, told(t, run))
	run.ExpectCalls("steady.release", 1)
	run.ExpectCalls("swift.release", 0)
}

// The customer keeps the parcel before the couriers have answered.
func TestTheCustomerKeepsIt(t *testing.T) {
	run := eitherOrSubmitted(t, 3*time.Second, 3*time.Second)
	require.True(t, run.Event("keep", "shop", true).Accepted)
	require.JSONEq(t, `{"parcel":"P-1","by":"kept","pickup":null}`, told(t, run))
	run.ExpectCalls("steady.release", 1)
	run.ExpectCalls("swift.release", 1)
}

// If both couriers refuse, the order waits for the customer or for the time.
func TestNobodyTakesIt(t *testing.T) {
	w := workflowtest.New(t, "either-or/either-or.yaml").AllowUnscripted()
	w.Agent("swift").On("take").Fail(workflowtest.Permanent("full", "no room"))
	w.Agent("steady").On("take").Fail(workflowtest.Permanent("full", "no room"))
	run := w.Submit(map[string]any{"parcel": "P-1"})
	require.JSONEq(t, `{"parcel":"P-1","by":"nobody","pickup":null}`, told(t, run))
}

// A courier that says it is fenced and is not: it takes the parcel after it has released it.
func TestACourierThatDoesNotFence(t *testing.T) {
	sim.Check(t, "either-or/either-or.yaml", sim.Order(`{"parcel":"P-1"}`),
		sim.With(sim.Services{"steady": {Grade: "idempotent"}}), sim.Breaks("11"))
}
