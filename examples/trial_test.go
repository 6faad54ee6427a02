package examples_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// trial is an order whose trial ends 14 days after the clock's beginning.
func trial(t *testing.T) (order map[string]any) {
	data, err := os.ReadFile("trial/order.json")
	if err == nil {
		err = json.Unmarshal(data, &order)
	}
	want := workflowtest.Start.Add(14 * 24 * time.Hour).Format(time.RFC3339)
	require.NoError(t, err)
	require.EqualValues(t, want, order["trialEnds"])
	return order
}

func deployed(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "trial/trial.yaml")
	w.Agent("accounts").On("open").Return(map[string]any{"account": "a1"})
	w.Agent("accounts").On("close").Return(nil)
	w.Agent("mail").On("send").Return(nil)
	w.Agent("payment").On("charge").Return(nil)
	return w
}

// The reminder goes out between 11 days and an hour more, the charge after exactly 14 days.
func TestTheTrialEndsWithACharge(t *testing.T) {
	w := deployed(t)
	run := w.Submit(trial(t))
	w.Advance(10 * 24 * time.Hour)
	run.ExpectCalls("mail.send", 0)
	require.Equal(t, workflowtest.Waiting, run.Step("almost-over").State)
	w.Advance(24*time.Hour + time.Hour + time.Minute)
	run.ExpectCalls("mail.send", 1)
	w.Advance(2*24*time.Hour + 22*time.Hour)
	run.ExpectCalls("payment.charge", 0)
	run.UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("payment.charge", 1)
	charged := run.Step("charge").ClaimedAt.Std().Sub(workflowtest.Start)
	require.GreaterOrEqual(t, charged, 14*24*time.Hour)
	require.LessOrEqual(t, charged, 14*24*time.Hour+time.Minute)
}

// A trial that is cancelled while it waits is undone at once, and nothing is charged.
func TestACancelledTrialIsUndoneAtOnce(t *testing.T) {
	w := deployed(t)
	run := w.Submit(trial(t))
	w.Advance(5 * 24 * time.Hour)
	require.True(t, run.Cancel().Accepted, "cancel is refused")
	run.UntilEnd(time.Minute)
	run.ExpectCancelled()
	run.ExpectCalls("accounts.close", 1)
	w.Advance(30 * 24 * time.Hour)
	run.ExpectCalls("mail.send", 0)
	run.ExpectCalls("payment.charge", 0)
}

// An end that is no time undoes the order before anything was charged.
func TestAnEndThatIsNoTimeUndoesTheOrder(t *testing.T) {
	w := deployed(t)
	run := w.Submit(map[string]any{
		"email": "ann@shop.example", "amount": 12,
		"trialEnds": "in two weeks",
	}).UntilEnd(time.Hour)
	run.ExpectCompensated()
	e := run.Step("over").Error
	require.NotNil(t, e, "the wait failed with %+v", e)
	require.Equal(t, "expression", e.Code)
}
