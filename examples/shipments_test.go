package examples_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// shipped returns an order of six items, of which the carrier refuses those with these SKUs.
func shipped(t *testing.T, refused ...string) *workflowtest.Run {
	w := workflowtest.New(t, "shipments/shipments.yaml").AllowUnscripted()
	w.Agent("carrier").On("send").Func(func(c workflowtest.Call) (any, error) {
		var item struct{ SKU string }
		err := c.Into(&item)
		if slices.Contains(refused, item.SKU) {
			return nil, workflowtest.Permanent("too-heavy", "no carrier takes "+item.SKU)
		}
		return map[string]string{"parcel": "p-" + item.SKU}, err
	})
	order, err := os.ReadFile("shipments/order.json")
	require.NoError(t, err)
	return w.Submit(json.RawMessage(order)).UntilEnd(time.Hour)
}

func TestTwoOfSixMayFail(t *testing.T) {
	run := shipped(t, "pot", "vase")
	run.ExpectProcessed()
	run.ExpectOutput(json.RawMessage(`{"lost": 2, "parcels": [
		{"parcel": "p-cup"}, null, {"parcel": "p-tray"}, {"parcel": "p-lamp"}, null, {"parcel": "p-bowl"}]}`))
	run.ExpectCalls("carrier.send", 6)   // each child makes one
	run.ExpectCalls("stock.put-back", 2) // the two failed children make them
	run.Child("ship", 1).ExpectUndone("send", "pick")
}

func TestTheThirdThatFailsUndoesAll(t *testing.T) {
	run := shipped(t, "pot", "vase", "bowl")
	run.ExpectCompensated()
	run.ExpectCalls("payment.refund", 1)
	for i := range 6 {
		run.Child("ship", i).ExpectCompensated()
	}
	require.Equal(t, "children-failed", run.Task().Error.Code)
}
