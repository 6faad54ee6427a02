package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func waiting(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "expense/expense.yaml").AllowUnscripted()
	run := w.Submit(map[string]any{
		"employee": "eve", "amount": 120, "purpose": "a train to the customer", "approvers": []string{"ann", "eve"},
	})
	return w, run.UntilStep("approve", workflowtest.Waiting, time.Minute)
}

func refused(t *testing.T, v workflowtest.Verdict, reason string) {
	t.Helper()
	require.False(t, v.Accepted, reason)
	require.Contains(t, v.Reason, reason)
}

// paidBy expects one payment, and returns who approved it.
func paidBy(t *testing.T, run *workflowtest.Run) string {
	t.Helper()
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("bank.pay", 1)
	var paid struct{ ApprovedBy string }
	require.NoError(t, run.Calls("bank.pay")[0].Into(&paid))
	return paid.ApprovedBy
}

func TestAnApprovedExpenseIsPaid(t *testing.T) {
	_, run := waiting(t)
	refused(t, run.Answer("approve", "eve", "approve"), "excluded")
	refused(t, run.Answer("approve", "mallory", "approve"), "not among those who may answer")
	refused(t, run.Answer("approve", "ann", "perhaps"), "must be one of")
	require.True(t, run.Answer("approve", "ann", "approve").Accepted)
	require.Equal(t, "ann", paidBy(t, run))
	refused(t, run.Answer("approve", "ann", "reject"), "the order no longer goes forward")
}

// Each approver gets a link of their own; a mail scanner that opens it decides nothing.
func TestALinkAnswers(t *testing.T) {
	_, run := waiting(t)
	var asked struct{ Mails []struct{ To, Link string } }
	require.NoError(t, run.Calls("mail.ask")[0].Into(&asked))
	links := map[string]string{}
	for _, m := range asked.Mails {
		links[m.To] = m.Link
	}
	status, page := run.OpenLink(links["ann"])
	require.Equal(t, 200, status)
	require.Contains(t, page, "Pay 120 to eve?")
	require.Contains(t, page, "a train to the customer")
	require.Contains(t, page, "You answer as ann.")
	require.Equal(t, workflowtest.Waiting, run.Step("approve").State)
	status, page = run.AnswerLink(links["eve"], "approve")
	require.Equal(t, 409, status)
	require.Contains(t, page, "excluded")
	status, _ = run.AnswerLink(links["ann"], "approve")
	require.Equal(t, 200, status)
	require.Equal(t, "ann", paidBy(t, run))
}

func TestARejectedExpenseReleasesTheBudget(t *testing.T) {
	_, run := waiting(t)
	require.True(t, run.Answer("approve", "ann", "reject").Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("budget.release", 1)
	run.ExpectCalls("bank.pay", 0)
}

// The approvers are reminded after a day. After two days without an answer two directors decide, one of whom may
// answer before the escalation begins.
func TestAnOverdueApprovalIsEscalated(t *testing.T) {
	w, run := waiting(t)
	w.Advance(24*time.Hour - time.Minute)
	run.ExpectCalls("mail.ask", 1)
	w.Advance(2 * time.Minute)
	run.ExpectCalls("mail.ask", 2)
	require.True(t, run.Answer("escalation", "dora", "approve").Accepted)
	w.Advance(24*time.Hour - 2*time.Minute)
	require.Equal(t, workflowtest.Waiting, run.Step("approve").State)
	run.UntilStep("escalation", workflowtest.Waiting, 10*time.Minute)
	run.ExpectCalls("mail.ask", 2)
	require.True(t, run.Answer("escalation", "dirk", "approve").Accepted)
	require.Equal(t, "dora, dirk", paidBy(t, run))
}

func TestWithoutAnyAnswerTheOrderIsUndone(t *testing.T) {
	_, run := waiting(t)
	run.UntilEnd(10 * 24 * time.Hour)
	run.ExpectCompensated()
	require.Equal(t, "answer-timeout", run.Step("escalation").Error.Code)
}
