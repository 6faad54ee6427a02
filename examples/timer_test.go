package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// printing returns an order with a printer that needs the given time.
func printing(t *testing.T, takes time.Duration) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "timer/timer.yaml").AllowUnscripted()
	w.Agent("printer").On("print").Func(func(c workflowtest.Call) (any, error) {
		if c.At.Sub(workflowtest.Start) < takes {
			return nil, workflowtest.NotYet(10 * time.Minute)
		}
		return "book-1", nil
	})
	return w, w.Submit(map[string]any{"book": "Summer", "customer": "ann@shop.example"})
}

// The customer is told after three hours, and then once a day, under a new number each time.
func TestTheCustomerIsToldThatItTakesLong(t *testing.T) {
	_, run := printing(t, 28*time.Hour)
	run.UntilEnd(30 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.tell-done", 1)
	told := run.Calls("mail.tell-late")
	require.Len(t, told, 2)
	require.JSONEq(t, `{"to":"ann@shop.example","times":1}`, string(told[0].Input))
	require.JSONEq(t, `{"to":"ann@shop.example","times":2}`, string(told[1].Input))
	require.WithinDuration(t, workflowtest.Start.Add(3*time.Hour), told[0].At, 2*time.Minute)
	require.WithinDuration(t, workflowtest.Start.Add(27*time.Hour), told[1].At, 2*time.Minute)
	require.NotEqual(t, told[0].Key, told[1].Key)
}

// A mail that fails changes nothing, and after three of them there is no other.
func TestAMailThatFailsChangesNothing(t *testing.T) {
	w, run := printing(t, 100*time.Hour)
	w.Agent("mail").On("tell-late").Fail(workflowtest.Permanent("bounced", "no such address"))
	run.UntilEnd(120 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.tell-late", 3)
}

// An order that is cancelled reminds no more, and its print is discarded.
func TestACancelEndsTheReminders(t *testing.T) {
	w, run := printing(t, 100*time.Hour)
	w.Advance(4 * time.Hour)
	run.Cancel()
	run.UntilEnd(72 * time.Hour)
	run.ExpectCancelled()
	run.ExpectCalls("mail.tell-late", 1)
	run.ExpectCalls("printer.discard", 1)
}
