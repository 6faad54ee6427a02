package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// printing returns the workflow with a printer that needs the given time.
func printing(t *testing.T, takes time.Duration) *workflowtest.Workflow {
	w := workflowtest.New(t, "timer/timer.yaml")
	w.Agent("printer").On("print").Func(func(c workflowtest.Call) (any, error) {
		if c.At.Sub(workflowtest.Start) < takes {
			return nil, workflowtest.NotYet(10 * time.Minute)
		}
		return "book-1", nil
	})
	w.Agent("printer").On("discard").Return(nil)
	w.Agent("mail").On("tell-late").Return(nil)
	w.Agent("mail").On("tell-done").Return(nil)
	return w
}

// The customer is told after three hours, and then once a day, under a new number each time.
func TestTheCustomerIsToldThatItTakesLong(t *testing.T) {
	run := printing(t, 28*time.Hour).Submit(map[string]any{"book": "Summer", "customer": "ann@shop.example"})
	run.UntilEnd(30 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.tell-done", 1)
	type told struct {
		To    string
		Times int
	}
	var all []told
	var keys []string
	for n, call := range run.Calls("mail.tell-late") {
		var in told
		require.NoError(t, call.Into(&in))
		all = append(all, in)
		keys = append(keys, call.Key)
		due := workflowtest.Start.Add(3*time.Hour + time.Duration(n)*24*time.Hour)
		require.WithinDuration(t, due, call.At, 2*time.Minute)
	}
	require.Equal(t, []told{{"ann@shop.example", 1}, {"ann@shop.example", 2}}, all)
	require.NotEqual(t, keys[0], keys[1])
}

// A print that is done in time tells of nothing but its end.
func TestAQuickPrintRemindsOfNothing(t *testing.T) {
	run := printing(t, 2*time.Hour).Submit(map[string]any{"book": "Summer", "customer": "ann@shop.example"})
	run.UntilEnd(4 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.tell-late", 0)
}

// A mail that fails changes nothing, and after three of them there is no other.
func TestAMailThatFailsChangesNothing(t *testing.T) {
	w := printing(t, 100*time.Hour)
	w.Agent("mail").On("tell-late").Fail(workflowtest.Permanent("bounced", "no such address"))
	run := w.Submit(map[string]any{"book": "Summer", "customer": "ann@shop.example"})
	run.UntilEnd(120 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.tell-late", 3)
}

// An order that is cancelled reminds no more, and its print is discarded.
func TestACancelEndsTheReminders(t *testing.T) {
	w := printing(t, 100*time.Hour)
	run := w.Submit(map[string]any{"book": "Summer", "customer": "ann@shop.example"})
	w.Advance(4 * time.Hour)
	run.Cancel()
	run.UntilEnd(72 * time.Hour)
	run.ExpectCancelled()
	run.ExpectCalls("mail.tell-late", 1)
	run.ExpectCalls("printer.discard", 1)
}
