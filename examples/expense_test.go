package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

var expense = map[string]any{
	"employee": "eve", "amount": 120, "purpose": "a train to the customer",
	"approvers": []string{"ann", "eve"},
}

func waiting(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "expense/expense.yaml")
	w.Agent("budget").On("reserve").Return(nil)
	w.Agent("budget").On("release").Return(nil)
	w.Agent("bank").On("pay").Return(nil)
	w.Agent("mail").On("ask").Return(nil)
	run := w.Submit(expense)
	run.UntilStep("approve", workflowtest.Waiting, time.Minute)
	return w, run
}

func refused(t *testing.T, v workflowtest.Verdict, reason string) {
	t.Helper()
	require.False(t, v.Accepted, reason)
	require.Contains(t, v.Reason, reason)
}

func TestAnApprovedExpenseIsPaid(t *testing.T) {
	w, run := waiting(t)
	refused(t, run.Answer("approve", "eve", "approve"), "excluded")
	refused(t, run.Answer("approve", "mallory", "approve"), "not among those who may answer")
	refused(t, run.Answer("approve", "ann", "perhaps"), "must be one of")
	refused(t, run.Answer("pay", "ann", "approve"), "not one that is answered")
	require.True(t, run.Answer("approve", "ann", "approve").Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.ask", 1)
	run.ExpectCalls("bank.pay", 1)
	var paid struct{ ApprovedBy string }
	require.NoError(t, run.Calls("bank.pay")[0].Into(&paid))
	require.Equal(t, "ann", paid.ApprovedBy)
	refused(t, run.Answer("approve", "ann", "reject"), "the order goes no longer forward")
	w.Advance(30 * 24 * time.Hour)
	run.ExpectCalls("bank.pay", 1)
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
	s := run.Step("approve")
	require.Equal(t, workflowtest.Waiting, s.State)
	require.Empty(t, s.Answers.Votes)
	status, page = run.AnswerLink(links["eve"], "approve")
	require.Equal(t, 409, status)
	require.Contains(t, page, "excluded")
	status, _ = run.AnswerLink(links["ann"][:len(links["ann"])-1], "approve")
	require.Equal(t, 403, status, "a cut link")
	status, _ = run.AnswerLink(links["ann"], "approve")
	require.Equal(t, 200, status)
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	_, page = run.OpenLink(links["ann"])
	require.NotContains(t, page, "<form")
}

func TestARejectedExpenseReleasesTheBudget(t *testing.T) {
	_, run := waiting(t)
	require.True(t, run.Answer("approve", "ann", "reject").Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("budget.release", 1)
	run.ExpectCalls("bank.pay", 0)
}

// After two days without an answer two directors decide, one of whom may answer before the escalation begins.
func TestAnOverdueApprovalIsEscalated(t *testing.T) {
	w, run := waiting(t)
	require.True(t, run.Answer("escalation", "dora", "approve").Accepted, "an early answer is refused")
	w.Advance(2*24*time.Hour - time.Minute)
	require.Equal(t, workflowtest.Waiting, run.Step("approve").State)
	run.UntilStep("escalation", workflowtest.Waiting, 10*time.Minute)
	require.True(t, run.Answer("escalation", "dirk", "approve").Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	var paid struct{ ApprovedBy string }
	require.NoError(t, run.Calls("bank.pay")[0].Into(&paid))
	require.Equal(t, "dora, dirk", paid.ApprovedBy)
}

func TestWithoutAnyAnswerTheOrderIsUndone(t *testing.T) {
	_, run := waiting(t)
	run.UntilEnd(10 * 24 * time.Hour)
	run.ExpectCompensated()
	e := run.Step("escalation").Error
	require.NotNil(t, e, "the escalation failed with %+v", e)
	require.Equal(t, "answer-timeout", e.Code)
}

// A mail server that does not work delays no expense that is approved without its mail.
func TestAnAnswerComesBeforeTheMail(t *testing.T) {
	w := workflowtest.New(t, "expense/expense.yaml")
	w.Agent("budget").On("reserve").Return(nil)
	w.Agent("bank").On("pay").Return(nil)
	w.Agent("mail").On("ask").Fail(workflowtest.Transient("down", "the server is down"))
	run := w.Submit(expense)
	run.UntilStep("reserve", workflowtest.Processed, time.Minute)
	require.True(t, run.Answer("approve", "ann", "approve").Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("bank.pay", 1)
}

// Who has not answered after a day is asked again, once; what becomes of that mail changes nothing.
func TestApproversAreReminded(t *testing.T) {
	w, run := waiting(t)
	w.Advance(24*time.Hour - time.Minute)
	run.ExpectCalls("mail.ask", 1)
	w.Advance(2 * time.Minute)
	run.ExpectCalls("mail.ask", 2)
	calls := run.Calls("mail.ask")
	first, second := calls[0], calls[1]
	require.NotEqual(t, second.Key, first.Key)
	require.Equal(t, string(second.Input), string(first.Input))
	w.Advance(24 * time.Hour)
	run.ExpectCalls("mail.ask", 2)
	require.Equal(t, workflowtest.Waiting, run.Step("escalation").State)
}
