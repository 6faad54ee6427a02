package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func trial(t *testing.T, ends string) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "trial/trial.yaml").AllowUnscripted()
	w.Agent("accounts").On("open").Return(map[string]any{"account": "a1"})
	return w, w.Submit(map[string]any{"email": "ann@shop.example", "amount": 12, "trialEnds": ends})
}

// inTwoWeeks is the end of the trial.
var inTwoWeeks = workflowtest.Start.Add(14 * 24 * time.Hour).Format(time.RFC3339)

// The reminder goes out between 11 days and an hour more, the charge after exactly 14 days.
func TestTheTrialEndsWithACharge(t *testing.T) {
	w, run := trial(t, inTwoWeeks)
	w.Advance(11*24*time.Hour - time.Minute)
	run.ExpectCalls("mail.send", 0)
	w.Advance(time.Hour + 2*time.Minute)
	run.ExpectCalls("mail.send", 1)
	w.Advance(2*24*time.Hour + 22*time.Hour)
	run.ExpectCalls("payment.charge", 0)
	run.UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("payment.charge", 1)
	charged := run.Calls("payment.charge")[0].At.Sub(workflowtest.Start)
	require.InDelta(t, 14*24*time.Hour, charged, float64(time.Minute))
}

// A trial that is cancelled while it waits is undone at once, and nothing is charged.
func TestACancelledTrialIsUndoneAtOnce(t *testing.T) {
	w, run := trial(t, inTwoWeeks)
	w.Advance(5 * 24 * time.Hour)
	require.True(t, run.Cancel().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCancelled()
	run.ExpectCalls("accounts.close", 1)
	w.Advance(30 * 24 * time.Hour)
	run.ExpectCalls("mail.send", 0)
	run.ExpectCalls("payment.charge", 0)
}

// An end that is no time undoes the order before anything was charged.
func TestAnEndThatIsNoTimeUndoesTheOrder(t *testing.T) {
	_, run := trial(t, "in two weeks")
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	require.Equal(t, "expression", run.Step("over").Error.Code)
}
