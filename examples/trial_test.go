package examples_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// trial is an order whose trial ends 14 days after the clock's beginning.
func trial(t *testing.T) (order map[string]any) {
	data, err := os.ReadFile("trial/order.json")
	if err == nil {
		err = json.Unmarshal(data, &order)
	}
	if want := workflowtest.Start.Add(14 * 24 * time.Hour).Format(time.RFC3339); err != nil ||
		order["trialEnds"] != want {
		t.Fatalf("%v, %v; want an end at %s", order, err, want)
	}
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
	if s := run.Step("almost-over"); s.State != workflowtest.Waiting {
		t.Errorf("after 10 days the reminder is %s", s.State)
	}
	w.Advance(24*time.Hour + time.Hour + time.Minute)
	run.ExpectCalls("mail.send", 1)
	w.Advance(2*24*time.Hour + 22*time.Hour)
	run.ExpectCalls("payment.charge", 0)
	run.UntilEnd(2 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("payment.charge", 1)
	charged := run.Step("charge").ClaimedAt.Std().Sub(workflowtest.Start)
	if charged < 14*24*time.Hour || charged > 14*24*time.Hour+time.Minute {
		t.Errorf("charged %s after the beginning", charged)
	}
}

// A trial that is cancelled while it waits is undone at once, and nothing is charged.
func TestACancelledTrialIsUndoneAtOnce(t *testing.T) {
	w := deployed(t)
	run := w.Submit(trial(t))
	w.Advance(5 * 24 * time.Hour)
	if v := run.Cancel(); !v.Accepted {
		t.Fatalf("cancel is refused: %s", v.Reason)
	}
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
	if e := run.Step("over").Error; e == nil || e.Code != "expression" {
		t.Errorf("the wait failed with %+v", e)
	}
}
