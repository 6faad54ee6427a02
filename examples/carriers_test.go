package examples_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// carriersShop has a stock; what the carriers do is the test's.
func carriersShop(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "carriers/carriers.yaml")
	w.Agent("stock").On("pack").Return(nil)
	w.Agent("stock").On("unpack").Return(nil)
	w.Agent("stock").On("collected").Return(nil)
	for _, carrier := range []string{"fedex", "dhl"} {
		w.Agent(carrier).On("ship").Return(map[string]any{"parcel": carrier + "-1"})
		w.Agent(carrier).On("cancel").Return(nil)
	}
	return w
}

func carriersOrder(t *testing.T) json.RawMessage {
	b, err := os.ReadFile("carriers/order.json")
	require.NoError(t, err)
	return b
}

func TestTheFirstCarrierTakesTheParcel(t *testing.T) {
	run := carriersShop(t).Submit(carriersOrder(t))
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectSkipped("dhl", "by-hand")
	run.ExpectOutput(map[string]any{"carrier": "fedex", "parcel": "fedex-1"})
}

// A carrier whose answers were lost may have taken the parcel: it is undone before the next one is asked.
func TestTheSecondCarrierIsAskedWhereTheFirstIsUndone(t *testing.T) {
	w := carriersShop(t)
	w.Agent("fedex").On("ship").Silent().Silent()
	run := w.Submit(carriersOrder(t))
	run.UntilEnd(10 * time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("fedex.ship", 2)
	run.ExpectUndone("fedex")
	run.ExpectPath("pack", "dhl", "collected")
	run.ExpectOutput(map[string]any{"carrier": "dhl", "parcel": "dhl-1"})
	var asked struct{ RefusedBy string }
	require.NoError(t, run.Calls("dhl.ship")[0].Into(&asked))
	require.Equal(t, "timeout", asked.RefusedBy)
}

// The stock is asked until the parcel has left, and no time in which it has not is a failure.
func TestTheStockIsAskedUntilTheParcelIsCollected(t *testing.T) {
	w := carriersShop(t)
	w.Agent("stock").On("collected").Fail(workflowtest.NotYet(time.Hour)).Fail(
		workflowtest.NotYet(time.Hour)).Fail(workflowtest.NotYet(0)).Return(nil)
	run := w.Submit(carriersOrder(t))
	run.UntilEnd(3 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("stock.collected", 4)
	require.LessOrEqual(t, run.Step("collected").Failures, 0)
}

// A parcel that is never collected is the operator's.
func TestAParcelThatIsNeverCollectedStops(t *testing.T) {
	w := carriersShop(t)
	notYet := w.Agent("stock").On("collected")
	for range 80 {
		notYet.Fail(workflowtest.NotYet(time.Hour))
	}
	run := w.Submit(carriersOrder(t))
	run.UntilEnd(4 * 24 * time.Hour)
	run.ExpectError("collected")
	left := run.Step("collected").Error.At.Std().Sub(workflowtest.Start)
	require.GreaterOrEqual(t, left, 3*24*time.Hour)
	require.LessOrEqual(t, left, 3*24*time.Hour+time.Minute)
}

func bothRefuse(t *testing.T) *workflowtest.Run {
	w := carriersShop(t)
	w.Agent("fedex").On("ship").Fail(workflowtest.Permanent("address-not-served", "no carrier goes there"))
	w.Agent("dhl").On("ship").Fail(workflowtest.Permanent("too-heavy", "it is too heavy"))
	run := w.Submit(carriersOrder(t))
	run.UntilStep("by-hand", workflowtest.Waiting, time.Minute)
	return run
}

func TestAPersonIsAskedWhereBothFail(t *testing.T) {
	run := bothRefuse(t)
	require.True(t, run.Answer("by-hand", "ann", "booked").Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectUndone("fedex", "dhl")
	run.ExpectOutput(map[string]any{"carrier": "by hand", "parcel": nil})
}

func TestGivingUpUnpacks(t *testing.T) {
	run := bothRefuse(t)
	require.True(t, run.Answer("by-hand", "ann", "give-up").Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("fedex", "dhl", "by-hand", "pack")
	run.ExpectCalls("fedex.cancel", 1)
	run.ExpectCalls("stock.unpack", 1)
}
