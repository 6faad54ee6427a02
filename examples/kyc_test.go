package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		require.True(t, run.Event("kyc-result", "kyc", passed(71)).Accepted, "an early event is refused")
	}
	require.False(t, run.Event("kyc-result", "kyc", passed(5)).Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	opened(t, run, 71)
}

func TestTheWebhookMayComeLater(t *testing.T) {
	w, run := kycSubmitted(t)
	w.Advance(48 * time.Hour)
	v := run.Event("kyc-result", "kyc", map[string]any{"status": "unsure"})
	require.False(t, v.Accepted, "a result of another shape: %+v", v)
	require.Contains(t, v.Reason, "/status")
	v = run.Event("kyc-resultt", "kyc", passed(1))
	require.False(t, v.Accepted, "an event of another name: %+v", v)
	require.Contains(t, v.Reason, "no step of the order waits for an event kyc-resultt")
	run.ExpectCalls("accounts.open", 0)
	require.True(t, run.Event("kyc-result", "kyc", passed(80)).Accepted)
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
	require.Len(t, run.Alerts(), 1)
	require.True(t, run.Resubmit().Accepted)
	w.Advance(time.Minute)
	require.True(t, run.Event("kyc-result", "kyc", passed(60)).Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	opened(t, run, 60)
}

func opened(t *testing.T, run *workflowtest.Run, score int) {
	t.Helper()
	run.ExpectCalls("accounts.open", 1)
	var in struct{ Score int }
	require.NoError(t, run.Calls("accounts.open")[0].Into(&in))
	require.Equal(t, score, in.Score)
}
