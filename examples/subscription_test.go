package examples_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const month = 30 * 24 * time.Hour

// Each period charges once, and submits the next one at its end, until the customer cancels.
func TestAPeriodSubmitsTheNext(t *testing.T) {
	w := workflowtest.New(t, "subscription/subscription.yaml").AllowUnscripted()
	for n := 1; n <= 3; n++ {
		order := json.RawMessage(fmt.Sprintf(`{"customer":"ann","period":%d}`, n))
		run := w.Submit(order, workflowtest.WithID(fmt.Sprintf("ann-%d", n)))
		if n == 3 {
			w.Advance(month / 2)
			require.True(t, run.Event("cancelled", "ann", true).Accepted)
			run.UntilEnd(time.Minute)
			run.ExpectProcessed()
			run.ExpectCalls("billing.submit", 0)
			break
		}
		w.Advance(month - time.Hour)
		run.ExpectCalls("billing.submit", 0)
		run.UntilEnd(2 * time.Hour)
		run.ExpectProcessed()
		run.ExpectCalls("payment.charge", 1)
		run.ExpectCalls("billing.submit", 1)
		next := fmt.Sprintf(`{"id":"ann-%d","customer":"ann","period":%d}`, n+1, n+1)
		require.JSONEq(t, next, string(run.Calls("billing.submit")[0].Input))
	}
}
