package examples_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

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
	if err != nil {
		t.Fatal(err)
	}
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
	if err := run.Calls("dhl.ship")[0].Into(&asked); err != nil || asked.RefusedBy != "timeout" {
		t.Errorf("dhl is reported %q (%v)", asked.RefusedBy, err)
	}
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
	if s := run.Step("collected"); s.Failures > 0 {
		t.Errorf("%d failures", s.Failures)
	}
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
	if left := run.Step("collected").Error.At.Std().Sub(workflowtest.Start); left < 3*24*time.Hour ||
		left > 3*24*time.Hour+time.Minute {
		t.Errorf("it stopped after %s", left)
	}
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
	if v := run.Answer("by-hand", "ann", "booked"); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectUndone("fedex", "dhl")
	run.ExpectOutput(map[string]any{"carrier": "by hand", "parcel": nil})
}

func TestGivingUpUnpacks(t *testing.T) {
	run := bothRefuse(t)
	if v := run.Answer("by-hand", "ann", "give-up"); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("fedex", "dhl", "by-hand", "pack")
	run.ExpectCalls("fedex.cancel", 1)
	run.ExpectCalls("stock.unpack", 1)
}
