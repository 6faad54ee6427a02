package examples_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func kycSubmitted(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "kyc/kyc.yaml")
	w.Agent("kyc").On("check").Return(nil).After(time.Second)
	w.Agent("accounts").On("open").Return(nil)
	return w, w.Submit(map[string]any{"customer": "c-1001"})
}

func passed(score int) map[string]any { return map[string]any{"status": "passed", "score": score} }

// The webhook comes while the check is still being ordered, twice, and then with another result.
func TestTheWebhookMayComeFirst(t *testing.T) {
	_, run := kycSubmitted(t)
	for range 2 {
		if v := run.Event("kyc-result", "kyc", passed(71)); !v.Accepted {
			t.Fatalf("an early event is refused: %s", v.Reason)
		}
	}
	if v := run.Event("kyc-result", "kyc", passed(5)); v.Accepted {
		t.Error("another result after the first is accepted")
	}
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	opened(t, run, 71)
}

func TestTheWebhookMayComeLater(t *testing.T) {
	w, run := kycSubmitted(t)
	w.Advance(48 * time.Hour)
	if v := run.Event("kyc-result", "kyc", map[string]any{"status": "unsure"}); v.Accepted ||
		!strings.Contains(v.Reason, "/status") {
		t.Errorf("a result of another shape: %+v", v)
	}
	if v := run.Event("kyc-resultt", "kyc", passed(1)); v.Accepted ||
		!strings.Contains(v.Reason, "no step of the order waits for an event kyc-resultt") {
		t.Errorf("an event of another name: %+v", v)
	}
	run.ExpectCalls("accounts.open", 0)
	if v := run.Event("kyc-result", "kyc", passed(80)); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	opened(t, run, 80)
}

func TestACustomerWhoFailsIsRefused(t *testing.T) {
	_, run := kycSubmitted(t)
	run.Event("kyc-result", "kyc", map[string]any{"status": "failed"})
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("accounts.open", 0)
}

// Without a result the order stops for the operator; the event that comes then lets Resubmit go on.
func TestWithoutAResultTheOrderStops(t *testing.T) {
	w, run := kycSubmitted(t)
	run.UntilStep("checked", workflowtest.Failed, 15*24*time.Hour)
	if len(run.Alerts()) != 1 {
		t.Errorf("the operator got %d alerts", len(run.Alerts()))
	}
	if v := run.Resubmit(); !v.Accepted {
		t.Fatal(v.Reason)
	}
	w.Advance(time.Minute)
	if v := run.Event("kyc-result", "kyc", passed(60)); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	opened(t, run, 60)
}

func opened(t *testing.T, run *workflowtest.Run, score int) {
	t.Helper()
	run.ExpectCalls("accounts.open", 1)
	var in struct{ Score int }
	if err := run.Calls("accounts.open")[0].Into(&in); err != nil {
		t.Fatal(err)
	}
	if in.Score != score {
		t.Errorf("opened with the score %d, want %d", in.Score, score)
	}
}
