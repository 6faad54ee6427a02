package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func quoteAsked(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "quote/quote.yaml").AllowUnscripted()
	w.Agent("north").On("quote").Return(map[string]any{"price": 310}).After(2 * time.Second)
	w.Agent("south").On("quote").Return(map[string]any{"price": 290}).After(9 * time.Second)
	return w
}

// The mail goes out with the first quote, and does not wait for the second.
func TestTheFirstQuoteCounts(t *testing.T) {
	run := quoteAsked(t).Submit(map[string]any{"car": "AB"}).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"from": "north", "price": 310})
	require.Less(t, run.Calls("mail.send")[0].At.Sub(workflowtest.Start), 3*time.Second)
	run.ExpectCalls("north.withdraw", 0)
	run.ExpectCalls("south.withdraw", 1)
}

// A busy insurer is asked again, while the other one may be first.
func TestABusyInsurerIsAskedAgain(t *testing.T) {
	w := quoteAsked(t)
	w.Agent("north").On("quote").FailTimes(4, workflowtest.Transient("busy", "later"))
	run := w.Submit(map[string]any{"car": "AB"}).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"from": "south", "price": 290})
}

func TestNobodyInsuresIt(t *testing.T) {
	w := quoteAsked(t)
	w.Agent("north").On("quote").Fail(workflowtest.Permanent("too-old", "not this car"))
	w.Agent("south").On("quote").Fail(workflowtest.Permanent("too-old", "not this car"))
	run := w.Submit(map[string]any{"car": "AB"}).UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.Equal(t, "none-left", run.Task().Error.Code)
	run.ExpectCalls("mail.send", 0)
}
