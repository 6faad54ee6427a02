package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func begun(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "reminders/reminders.yaml").AllowUnscripted()
	w.Agent("accounts").On("open").Return(map[string]any{"account": "a1"})
	return w, w.Submit(map[string]any{"email": "ann@shop.example"})
}

// A purchase ends what waits now and what has yet to begin, so that no mail goes out after it.
func TestAPurchaseEndsTheReminders(t *testing.T) {
	for days, mails := range map[time.Duration]int{2: 0, 8: 1, 12: 2} {
		w, run := begun(t)
		w.Advance(days * 24 * time.Hour)
		run.ExpectCalls("mail.send", mails)
		require.True(t, run.Event("bought", "shop", true).Accepted)
		run.UntilEnd(4 * 24 * time.Hour)
		run.ExpectProcessed()
		run.ExpectCalls("accounts.keep", 1)
		w.Advance(30 * 24 * time.Hour)
		run.ExpectCalls("mail.send", mails)
	}
}

// The second reminder goes out three days before the end, and without a purchase the account is closed at the
// end.
func TestATrialThatIsNotBoughtIsClosed(t *testing.T) {
	w, run := begun(t)
	w.Advance(11*24*time.Hour - time.Hour)
	run.ExpectCalls("mail.send", 1)
	w.Advance(2 * time.Hour)
	run.ExpectCalls("mail.send", 2)
	w.Advance(2*24*time.Hour + 20*time.Hour)
	run.ExpectCalls("accounts.close", 0)
	run.UntilEnd(6 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("accounts.close", 1)
	run.ExpectCalls("accounts.keep", 0)
}
