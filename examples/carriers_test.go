package examples_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func carriersShop(t *testing.T) (*workflowtest.Workflow, json.RawMessage) {
	w := workflowtest.New(t, "carriers/carriers.yaml").AllowUnscripted()
	w.Agent("fedex").On("ship").Return(map[string]any{"parcel": "fedex-1"})
	w.Agent("dhl").On("ship").Return(map[string]any{"parcel": "dhl-1"})
	order, err := os.ReadFile("carriers/order.json")
	require.NoError(t, err)
	return w, order
}

// The stock is asked until the parcel has left, and no time in which it has not is a failure.
func TestTheFirstCarrierTakesTheParcel(t *testing.T) {
	w, order := carriersShop(t)
	w.Agent("stock").On("collected").FailTimes(3, workflowtest.NotYet(time.Hour)).Return(nil)
	run := w.Submit(order).UntilEnd(4 * time.Hour)
	run.ExpectProcessed()
	run.ExpectSkipped("dhl", "by-hand")
	run.ExpectOutput(map[string]any{"carrier": "fedex", "parcel": "fedex-1"})
	run.ExpectCalls("stock.collected", 4)
	require.Zero(t, run.Step("collected").Failures)
}

// A carrier whose answers were lost may have taken the parcel: it is undone before the next one is asked.
func TestTheSecondCarrierIsAskedWhereTheFirstIsUndone(t *testing.T) {
	w, order := carriersShop(t)
	w.Agent("fedex").On("ship").Silent().Silent()
	run := w.Submit(order).UntilEnd(10 * time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("fedex.ship", 2)
	run.ExpectUndone("fedex")
	run.ExpectPath("pack", "dhl", "collected")
	run.ExpectOutput(map[string]any{"carrier": "dhl", "parcel": "dhl-1"})
	var asked struct{ RefusedBy string }
	require.NoError(t, run.Calls("dhl.ship")[0].Into(&asked))
	require.Equal(t, "timeout", asked.RefusedBy)
}

// A parcel that is never collected is the operator's.
func TestAParcelThatIsNeverCollectedStops(t *testing.T) {
	w, order := carriersShop(t)
	w.Agent("stock").On("collected").FailTimes(80, workflowtest.NotYet(time.Hour))
	run := w.Submit(order).UntilEnd(4 * 24 * time.Hour)
	run.ExpectError("collected")
	left := run.Step("collected").Error.At.Std().Sub(workflowtest.Start)
	require.InDelta(t, 3*24*time.Hour, left, float64(time.Minute))
}

// A person is asked if both fail.
func TestBothRefuse(t *testing.T) {
	for answer, undone := range map[string][]string{
		"booked":  {"fedex", "dhl"},
		"give-up": {"fedex", "dhl", "by-hand", "pack"},
	} {
		w, order := carriersShop(t)
		w.Agent("fedex").On("ship").Fail(workflowtest.Permanent("address-not-served", "no carrier goes there"))
		w.Agent("dhl").On("ship").Fail(workflowtest.Permanent("too-heavy", "it is too heavy"))
		run := w.Submit(order).UntilStep("by-hand", workflowtest.Waiting, time.Minute)
		require.True(t, run.Answer("by-hand", "ann", answer).Accepted)
		run.UntilEnd(time.Minute)
		run.ExpectUndone(undone...)
		if answer == "give-up" {
			run.ExpectCompensated()
			continue
		}
		run.ExpectProcessed()
		run.ExpectOutput(map[string]any{"carrier": "by hand", "parcel": nil})
	}
}
