package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func kycSubmitted(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "kyc/kyc.yaml").AllowUnscripted()
	w.Agent("kyc").On("check").Return(nil).After(time.Second)
	return w, w.Submit(map[string]any{"customer": "c-1001"})
}

func passed(score int) map[string]any { return map[string]any{"status": "passed", "score": score} }

func opened(t *testing.T, run *workflowtest.Run, score int) {
	t.Helper()
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("accounts.open", 1)
	var in struct{ Score int }
	require.NoError(t, run.Calls("accounts.open")[0].Into(&in))
	require.Equal(t, score, in.Score)
}

// The webhook comes while the check is still being ordered, twice, and then with another result.
func TestTheWebhookMayComeFirst(t *testing.T) {
	_, run := kycSubmitted(t)
	require.True(t, run.Event("kyc-result", "kyc", passed(71)).Accepted)
	require.True(t, run.Event("kyc-result", "kyc", passed(71)).Accepted)
	require.False(t, run.Event("kyc-result", "kyc", passed(5)).Accepted)
	opened(t, run, 71)
}

// Without a result the order stops for the operator, who resubmits it. It refuses a result of another shape, and goes
// on with the right one.
func TestTheWebhookMayComeLater(t *testing.T) {
	w, run := kycSubmitted(t)
	run.UntilStep("checked", workflowtest.Failed, 15*24*time.Hour)
	require.Len(t, run.Alerts(), 1)
	run.ExpectCalls("accounts.open", 0)
	require.True(t, run.Resubmit().Accepted)
	w.Advance(time.Minute)
	v := run.Event("kyc-result", "kyc", map[string]any{"status": "unsure"})
	require.False(t, v.Accepted)
	require.Contains(t, v.Reason, "/status")
	require.True(t, run.Event("kyc-result", "kyc", passed(60)).Accepted)
	opened(t, run, 60)
}

func TestACustomerWhoFailsIsRefused(t *testing.T) {
	_, run := kycSubmitted(t)
	run.Event("kyc-result", "kyc", map[string]any{"status": "failed"})
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("accounts.open", 0)
}
