package examples_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const paymentOrder = `{"customer":"c-1","amount":100,"card":"4711"}`

var declined = workflowtest.Permanent("declined", "the card is declined")

func payment(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "payment/payment.yaml")
	w.Agent("credit").On("charge").Return(map[string]any{"remaining": 60})
	w.Agent("credit").On("refund").Return(nil)
	w.Agent("card").On("refund").Return(nil)
	w.Agent("mail").On("ask").Return(nil)
	return w
}

func cards(t *testing.T, run *workflowtest.Run) (all []string) {
	t.Helper()
	for _, call := range run.Calls("card.charge") {
		var in struct{ Card string }
		require.NoError(t, call.Into(&in))
		all = append(all, in.Card)
	}
	return all
}

// The card is declined twice. Each correction goes to the order, and reaches the try that waits for it.
func TestTheDataIsCorrected(t *testing.T) {
	w := payment(t)
	w.Agent("card").On("charge").Fail(declined).Fail(declined).Return(nil)
	run := w.Submit(json.RawMessage(paymentOrder))
	for n, card := range []string{"4712", "4713"} {
		w.Advance(time.Minute)
		require.Equal(t, workflowtest.State("Waiting"), run.Child("card", n).Step("corrected").State)
		v := run.Event("card-data", "shop", map[string]any{"card": card})
		require.True(t, v.Accepted)
		require.Equal(t, "passed on to step card", v.Reason)
	}
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"tries": 3})
	require.Equal(t, []string{"4711", "4712", "4713"}, cards(t, run))
}

// Data that comes before anybody asks for it waits for the first try that needs it, and a second correction for the next.
func TestTheDataComesEarly(t *testing.T) {
	w := payment(t)
	w.Agent("card").On("charge").Fail(declined).Fail(declined).Return(nil)
	run := w.Submit(json.RawMessage(paymentOrder))
	require.True(t, run.Event("card-data", "shop", map[string]any{"card": "4712"}).Accepted)
	require.True(t, run.Event("card-data", "shop", map[string]any{"card": "4713"}).Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.Equal(t, []string{"4711", "4712", "4713"}, cards(t, run))
}

// Data that nobody needs is left, and an answer to a try that has ended is refused.
func TestAnswersThatAreNotNeeded(t *testing.T) {
	w := payment(t)
	w.Agent("card").On("charge").Fail(declined).Return(nil)
	run := w.Submit(json.RawMessage(paymentOrder))
	w.Advance(time.Minute)
	require.False(t, run.Event("card-data", "shop", map[string]any{"number": "4712"}).Accepted, "not of its shape")
	require.True(t, run.Event("card-data", "shop", map[string]any{"card": "4712"}).Accepted)
	require.True(t, run.Event("card-data", "shop", map[string]any{"card": "4713"}).Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.Equal(t, []string{"4711", "4712"}, cards(t, run))
	require.False(t, run.Event("card-data", "shop", map[string]any{"card": "4714"}).Accepted)
	require.False(t, run.Child("card", 0).Event("card-data", "shop", map[string]any{"card": "4714"}).Accepted)
}

// Without a correction the credit is given back.
func TestNobodyCorrects(t *testing.T) {
	w := payment(t)
	w.Agent("card").On("charge").Fail(declined)
	run := w.Submit(json.RawMessage(paymentOrder))
	run.UntilEnd(8 * 24 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("credit.refund", 1)
}

// The credit is enough.
func TestTheCreditIsEnough(t *testing.T) {
	w := workflowtest.New(t, "payment/payment.yaml")
	w.Agent("credit").On("charge").Return(map[string]any{"remaining": 0})
	run := w.Submit(json.RawMessage(paymentOrder))
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectSkipped("card")
}
