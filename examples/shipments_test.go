package examples_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// shipmentsShop charges, and its carrier refuses the items whose SKU is named.
func shipmentsShop(t *testing.T, refused ...string) *workflowtest.Workflow {
	w := workflowtest.New(t, "shipments/shipments.yaml")
	w.Agent("payment").On("charge").Return(nil)
	w.Agent("payment").On("refund").Return(nil)
	w.Agent("stock").On("pick").Return(nil)
	w.Agent("stock").On("put-back").Return(nil)
	w.Agent("carrier").On("send").Func(func(c workflowtest.Call) (any, error) {
		var item struct{ SKU string }
		if err := c.Into(&item); err != nil {
			return nil, err
		}
		for _, sku := range refused {
			if sku == item.SKU {
				return nil, workflowtest.Permanent("too-heavy", "no carrier takes "+sku)
			}
		}
		return map[string]string{"parcel": "p-" + item.SKU}, nil
	})
	w.Agent("carrier").On("call-back").Return(nil)
	return w
}

func shipmentsOrder(t *testing.T) json.RawMessage {
	b, err := os.ReadFile("shipments/order.json")
	require.NoError(t, err)
	return b
}

func TestTwoOfSixMayFail(t *testing.T) {
	run := shipmentsShop(t, "pot", "vase").Submit(shipmentsOrder(t))
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"lost": 2, "parcels": []any{
		map[string]any{"parcel": "p-cup"},
		nil,
		map[string]any{"parcel": "p-tray"},
		map[string]any{"parcel": "p-lamp"},
		nil,
		map[string]any{"parcel": "p-bowl"},
	}})
	run.ExpectCalls("carrier.send", 6)   // each child makes one
	run.ExpectCalls("stock.put-back", 2) // the two failed children make them
	pot := run.Child("ship", 1)
	pot.ExpectUndone("send", "pick")
	pot.ExpectCalls("stock.put-back", 1)
}

func TestTheThirdThatFailsUndoesAll(t *testing.T) {
	run := shipmentsShop(t, "pot", "vase", "bowl").Submit(shipmentsOrder(t))
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("payment.refund", 1)
	for i := range 6 {
		run.Child("ship", i).ExpectCompensated()
	}
	task := run.Task()
	require.NotNil(t, task.Error, "undone because of %+v", task.Error)
	require.Equal(t, "children-failed", task.Error.Code)
}
