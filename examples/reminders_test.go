package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func begun(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "reminders/reminders.yaml")
	w.Agent("accounts").On("open").Return(map[string]any{"account": "a1"})
	w.Agent("accounts").On("keep").Return(nil)
	w.Agent("accounts").On("close").Return(nil)
	w.Agent("mail").On("send").Return(nil)
	return w, w.Submit(map[string]any{"email": "ann@shop.example"})
}

func buys(t *testing.T, run *workflowtest.Run) {
	t.Helper()
	require.True(t, run.Event("bought", "shop", true).Accepted)
}

// A purchase ends what waits now and what has yet to begin, so that no mail goes out after it.
func TestAPurchaseEndsTheReminders(t *testing.T) {
	for after, mails := range map[time.Duration]int{2 * 24 * time.Hour: 0, 8 * 24 * time.Hour: 1, 12 * 24 * time.Hour: 2} {
		w, run := begun(t)
		w.Advance(after)
		run.ExpectCalls("mail.send", mails)
		buys(t, run)
		run.UntilEnd(4 * 24 * time.Hour)
		run.ExpectProcessed()
		run.ExpectCalls("accounts.keep", 1)
		run.ExpectCalls("mail.send", mails)
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
