package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func received(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "invoice/invoice.yaml").AllowUnscripted()
	return w, w.Submit(map[string]any{"number": "I-7", "amount": 90, "approver": "mary"})
}

// invoiceAnswer answers a step of a round.
func invoiceAnswer(t *testing.T, w *workflowtest.Workflow, run *workflowtest.Run, round int, step, by, value string) {
	t.Helper()
	w.Advance(time.Second)
	v := run.Child("approved", round).Answer(step, by, value)
	require.True(t, v.Accepted, v.Reason)
}

// Two reviews, and the third look approves it.
func TestItIsClarifiedTwice(t *testing.T) {
	w, run := received(t)
	for round := range 2 {
		invoiceAnswer(t, w, run, round, "approve", "mary", "review")
		invoiceAnswer(t, w, run, round, "review", "peter", "clarified")
	}
	w.Advance(time.Second)
	require.False(t, run.Child("approved", 2).Answer("approve", "peter", "approve").Accepted)
	run.ExpectCalls("bank.transfer", 0)
	invoiceAnswer(t, w, run, 2, "approve", "mary", "approve")
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("bank.transfer", 1)
	run.ExpectOutput(map[string]any{"rounds": 3})
}

// An invoice that is dropped is not paid, and no longer filed.
func TestItIsDropped(t *testing.T) {
	w, run := received(t)
	invoiceAnswer(t, w, run, 0, "approve", "mary", "review")
	invoiceAnswer(t, w, run, 0, "review", "peter", "drop")
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("bank.transfer", 0)
	run.ExpectCalls("archive.remove", 1)
}
