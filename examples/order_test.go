package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

type m = map[string]any

// goods is an order; physical ones have to be carried.
func goods(physical bool) any {
	return m{
		"customer": m{"email": "ada@example.com"}, "currency": "EUR", "payment": m{"card": "tok_1"},
		"shipTo": m{"country": "DE"},
		"items": []m{
			{"sku": "A", "quantity": 2, "unitPrice": 1250, "physical": physical},
			{"sku": "E", "quantity": 1, "unitPrice": 99},
		},
	}
}

func orderShop(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "order/order.yaml").AllowUnscripted()
	w.Agent("inventory").On("reserve").Return(m{"reservationId": "r-1"})
	w.Agent("payment").On("charge").Return(m{"chargeId": "c-1"})
	w.Agent("shipping").On("book").Return(m{"shipmentId": "s-1"})
	return w
}

// The payment is down for a while, and is called five times with one key.
func TestOrderOfGoods(t *testing.T) {
	w := orderShop(t)
	w.Agent("payment").On("charge").
		FailTimes(4, workflowtest.Transient("http-503", "down")).
		Return(m{"chargeId": "c-1"})
	run := w.Submit(goods(true)).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectPath("reserve-inventory", "charge-payment", "book-shipment", "send-confirmation")
	run.ExpectOutput(m{"chargeId": "c-1", "reservationId": "r-1", "shipmentId": "s-1"})
	charges := run.Calls("payment.charge")
	require.Len(t, charges, 5)
	require.Equal(t, run.ID()+"/0/charge-payment", charges[4].Key)
	require.JSONEq(t, `{"amount":2599,"card":"tok_1","currency":"EUR"}`, string(charges[4].Input))
	var booked struct{ Items []struct{ SKU string } }
	require.NoError(t, run.Calls("shipping.book")[0].Into(&booked))
	require.Len(t, booked.Items, 1)
	require.Equal(t, "A", booked.Items[0].SKU)
}

func TestOrderOfDownloads(t *testing.T) {
	run := orderShop(t).Submit(goods(false)).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectSkipped("book-shipment")
	run.ExpectOutput(m{"chargeId": "c-1", "reservationId": "r-1", "shipmentId": nil})
	var kinds []string
	for _, s := range run.Statuses() {
		kinds = append(kinds, string(s.Kind))
	}
	require.Equal(t, []string{"received", "started", "step-finished", "step-finished", "step-finished", "completed"}, kinds)
}

// Both had been asked. The charge is undone too: that it was refused is no proof (P7).
func TestCardDeclined(t *testing.T) {
	w := orderShop(t)
	w.Agent("payment").On("charge").Fail(workflowtest.Permanent("card-declined", "the bank says no"))
	run := w.Submit(goods(true)).UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("charge-payment", "reserve-inventory")
	run.ExpectCalls("shipping.book", 0)
	require.Equal(t, "card-declined", run.Task().Error.Code)
	require.Equal(t, "charge-payment", run.Task().Error.Step)
}

// It is unknown whether the shipment was booked, and the service cannot be asked: the operator finds
// out, and the order goes on being undone.
func TestShippingInDoubt(t *testing.T) {
	for fact, cancels := range map[workflowtest.Fact]int{workflowtest.Happened: 1, workflowtest.NotHappened: 0} {
		w := orderShop(t)
		w.Agent("shipping").On("book").Silent()
		run := w.Submit(goods(true)).UntilEnd(5 * time.Minute)
		run.ExpectError("book-shipment")
		run.ExpectCalls("shipping.book", 1) // never asked twice
		require.False(t, run.Resolve("book-shipment", fact).Accepted, "stated while a call could still land")
		w.Advance(time.Minute)
		require.True(t, run.Resolve("book-shipment", fact).Accepted)
		require.True(t, run.Resubmit().Accepted)
		run.UntilEnd(time.Minute)
		run.ExpectCompensated()
		run.ExpectUndone("book-shipment", "charge-payment", "reserve-inventory")
		run.ExpectCalls("shipping.cancel", cancels)
	}
}

// A mail server that is down for long alerts no operator: 30 more attempts, 2 s apart.
func TestConfirmationWaitsLong(t *testing.T) {
	w := orderShop(t)
	w.Agent("notification").On("confirm").FailTimes(25, workflowtest.Transient("smtp-421", "not now")).Return(nil)
	run := w.Submit(goods(false)).UntilEnd(2 * time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("notification.confirm", 26)
	require.GreaterOrEqual(t, w.Now().Sub(workflowtest.Start), 40*time.Second)
}

// Each refusal of the point of no return is proven to have had no effect, so the order can be undone (P22a).
func TestRefusedConfirmationCanBeUndone(t *testing.T) {
	w := orderShop(t)
	w.Agent("notification").On("confirm").Fail(workflowtest.Transient("smtp-421", "not now"))
	run := w.Submit(goods(false)).UntilEnd(5 * time.Minute)
	run.ExpectError("send-confirmation")
	run.ExpectCalls("notification.confirm", 35)
	require.True(t, run.Undo().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("send-confirmation", "charge-payment", "reserve-inventory") // the first one without a call
}

// An order can be cancelled until the point of no return.
func TestCancel(t *testing.T) {
	w := orderShop(t)
	w.Agent("shipping").On("book").Return(nil).After(500 * time.Millisecond)
	run := w.Submit(goods(true)).UntilStep("book-shipment", workflowtest.Processing, time.Minute)
	require.True(t, run.Cancel().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCancelled()
	run.ExpectUndone("book-shipment", "charge-payment", "reserve-inventory")

	run = w.Submit(goods(true)).UntilStep("send-confirmation", workflowtest.Processing, time.Minute)
	require.False(t, run.Cancel().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
}
