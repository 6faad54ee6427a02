package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

var declined = workflowtest.Permanent("declined", "the card is declined")

func payment(t *testing.T, remaining int) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "payment/payment.yaml").AllowUnscripted()
	w.Agent("credit").On("charge").Return(map[string]any{"remaining": remaining})
	w.Agent("card").On("charge").Fail(declined).Fail(declined).Return(nil)
	return w, w.Submit(map[string]any{"customer": "c-1", "amount": 100, "card": "4711"})
}

func corrected(run *workflowtest.Run, card string) workflowtest.Verdict {
	return run.Event("card-data", "shop", map[string]any{"card": card})
}

func paidWith(t *testing.T, run *workflowtest.Run) (cards []string) {
	t.Helper()
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	for _, call := range run.Calls("card.charge") {
		var in struct{ Card string }
		require.NoError(t, call.Into(&in))
		cards = append(cards, in.Card)
	}
	return cards
}

// The card is declined twice. Each correction goes to the order, and reaches the try that waits for it.
func TestTheDataIsCorrected(t *testing.T) {
	w, run := payment(t, 60)
	for n, card := range []string{"4712", "4713"} {
		w.Advance(time.Minute)
		run.ExpectCalls("mail.ask", n+1)
		require.False(t, run.Event("card-data", "shop", map[string]any{"number": card}).Accepted, "not of its shape")
		v := corrected(run, card)
		require.True(t, v.Accepted)
		require.Equal(t, "passed on to step card", v.Reason)
	}
	require.Equal(t, []string{"4711", "4712", "4713"}, paidWith(t, run))
	run.ExpectOutput(map[string]any{"tries": 3})
	require.False(t, corrected(run, "4714").Accepted)
}

// Data that comes before anybody asks for it waits for the first try that needs it, and a second correction for the next.
func TestTheDataComesEarly(t *testing.T) {
	_, run := payment(t, 60)
	require.True(t, corrected(run, "4712").Accepted)
	require.True(t, corrected(run, "4713").Accepted)
	require.Equal(t, []string{"4711", "4712", "4713"}, paidWith(t, run))
}

// Without a correction the credit is given back.
func TestNobodyCorrects(t *testing.T) {
	_, run := payment(t, 60)
	run.UntilEnd(8 * 24 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("credit.refund", 1)
}

func TestTheCreditIsEnough(t *testing.T) {
	_, run := payment(t, 0)
	require.Empty(t, paidWith(t, run))
	run.ExpectSkipped("card")
	run.ExpectOutput(map[string]any{"tries": 0})
}
