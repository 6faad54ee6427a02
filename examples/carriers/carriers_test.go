package carriers_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// shop has a stock; what the carriers do is the test's.
func shop(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "carriers.yaml")
	w.Agent("stock").On("pack").Return(nil)
	w.Agent("stock").On("unpack").Return(nil)
	for _, carrier := range []string{"fedex", "dhl"} {
		w.Agent(carrier).On("ship").Return(map[string]any{"parcel": carrier + "-1"})
		w.Agent(carrier).On("cancel").Return(nil)
	}
	return w
}

func order(t *testing.T) json.RawMessage {
	b, err := os.ReadFile("order.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheFirstCarrierTakesTheParcel(t *testing.T) {
	run := shop(t).Submit(order(t))
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectSkipped("dhl", "by-hand")
	run.ExpectOutput(map[string]any{"carrier": "fedex", "parcel": "fedex-1"})
}

// A carrier whose answers were lost may have taken the parcel: it is undone before the next one is asked.
func TestTheSecondCarrierIsAskedWhereTheFirstIsUndone(t *testing.T) {
	w := shop(t)
	w.Agent("fedex").On("ship").Silent().Silent()
	run := w.Submit(order(t))
	run.UntilEnd(10 * time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("fedex.ship", 2)
	run.ExpectUndone("fedex")
	run.ExpectPath("pack", "dhl")
	run.ExpectOutput(map[string]any{"carrier": "dhl", "parcel": "dhl-1"})
	var asked struct{ RefusedBy string }
	if err := run.Calls("dhl.ship")[0].Into(&asked); err != nil || asked.RefusedBy != "timeout" {
		t.Errorf("dhl is told %q (%v)", asked.RefusedBy, err)
	}
}

func bothRefuse(t *testing.T) *workflowtest.Run {
	w := shop(t)
	w.Agent("fedex").On("ship").Fail(workflowtest.Permanent("address-not-served", "no carrier goes there"))
	w.Agent("dhl").On("ship").Fail(workflowtest.Permanent("too-heavy", "it is too heavy"))
	run := w.Submit(order(t))
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
