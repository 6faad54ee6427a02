package examples_test

import (
	"strings"
	"testing"
	"time"

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
	if v.Accepted || !strings.Contains(v.Reason, reason) {
		t.Errorf("%+v, want a refusal with %q", v, reason)
	}
}

func TestAnApprovedExpenseIsPaid(t *testing.T) {
	w, run := waiting(t)
	refused(t, run.Answer("approve", "eve", "approve"), "excluded")
	refused(t, run.Answer("approve", "mallory", "approve"), "not among those who may answer")
	refused(t, run.Answer("approve", "ann", "perhaps"), "must be one of")
	refused(t, run.Answer("pay", "ann", "approve"), "not one that is answered")
	if v := run.Answer("approve", "ann", "approve"); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("mail.ask", 1)
	run.ExpectCalls("bank.pay", 1)
	var paid struct{ ApprovedBy string }
	if err := run.Calls("bank.pay")[0].Into(&paid); err != nil {
		t.Fatal(err)
	}
	if paid.ApprovedBy != "ann" {
		t.Errorf("approved by %q", paid.ApprovedBy)
	}
	refused(t, run.Answer("approve", "ann", "reject"), "the order goes no longer forward")
	w.Advance(30 * 24 * time.Hour)
	run.ExpectCalls("bank.pay", 1)
}

// Each approver gets a link of their own; a mail scanner that opens it decides nothing.
func TestALinkAnswers(t *testing.T) {
	_, run := waiting(t)
	var asked struct{ Mails []struct{ To, Link string } }
	if err := run.Calls("mail.ask")[0].Into(&asked); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{}
	for _, m := range asked.Mails {
		links[m.To] = m.Link
	}
	status, page := run.OpenLink(links["ann"])
	if status != 200 || !strings.Contains(page, "Pay 120 to eve?") ||
		!strings.Contains(page, "a train to the customer") || !strings.Contains(page, "You answer as ann.") {
		t.Errorf("%d\n%s", status, page)
	}
	if s := run.Step("approve"); s.State != workflowtest.Waiting || len(s.Answers.Votes) > 0 {
		t.Errorf("after the look the approval is %s", s.State)
	}
	status, page = run.AnswerLink(links["eve"], "approve")
	if status != 409 ||
		!strings.Contains(page, "excluded") {
		t.Errorf("her own expense: %d\n%s", status, page)
	}
	status, page = run.AnswerLink(links["ann"][:len(links["ann"])-1], "approve")
	if status != 403 {
		t.Errorf("a cut link: %d\n%s", status, page)
	}
	status, page = run.AnswerLink(links["ann"], "approve")
	if status != 200 {
		t.Fatalf("%d\n%s", status, page)
	}
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	_, page = run.OpenLink(links["ann"])
	if strings.Contains(page, "<form") {
		t.Errorf("it still asks:\n%s", page)
	}
}

func TestARejectedExpenseReleasesTheBudget(t *testing.T) {
	_, run := waiting(t)
	if v := run.Answer("approve", "ann", "reject"); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("budget.release", 1)
	run.ExpectCalls("bank.pay", 0)
}

// After two days without an answer two directors decide, one of whom may answer before the escalation begins.
func TestAnOverdueApprovalIsEscalated(t *testing.T) {
	w, run := waiting(t)
	if v := run.Answer("escalation", "dora", "approve"); !v.Accepted {
		t.Fatalf("an early answer is refused: %s", v.Reason)
	}
	w.Advance(2*24*time.Hour - time.Minute)
	if s := run.Step("approve"); s.State != workflowtest.Waiting {
		t.Errorf("before its time is over the approval is %s", s.State)
	}
	run.UntilStep("escalation", workflowtest.Waiting, 10*time.Minute)
	if v := run.Answer("escalation", "dirk", "approve"); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	var paid struct{ ApprovedBy string }
	if err := run.Calls("bank.pay")[0].Into(&paid); err != nil {
		t.Fatal(err)
	}
	if paid.ApprovedBy != "dora, dirk" {
		t.Errorf("approved by %q", paid.ApprovedBy)
	}
}

func TestWithoutAnyAnswerTheOrderIsUndone(t *testing.T) {
	_, run := waiting(t)
	run.UntilEnd(10 * 24 * time.Hour)
	run.ExpectCompensated()
	if e := run.Step("escalation").Error; e == nil || e.Code != "answer-timeout" {
		t.Errorf("the escalation failed with %+v", e)
	}
}

// A mail server that does not work delays no expense that is approved without its mail.
func TestAnAnswerComesBeforeTheMail(t *testing.T) {
	w := workflowtest.New(t, "expense/expense.yaml")
	w.Agent("budget").On("reserve").Return(nil)
	w.Agent("bank").On("pay").Return(nil)
	w.Agent("mail").On("ask").Fail(workflowtest.Transient("down", "the server is down"))
	run := w.Submit(expense)
	run.UntilStep("reserve", workflowtest.Processed, time.Minute)
	if v := run.Answer("approve", "ann", "approve"); !v.Accepted {
		t.Fatal(v.Reason)
	}
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
	if first, second := calls[0], calls[1]; first.Key == second.Key ||
		string(first.Input) != string(second.Input) {
		t.Errorf("asked with %q, reminded with %q", first.Key, second.Key)
	}
	w.Advance(24 * time.Hour)
	run.ExpectCalls("mail.ask", 2)
	if s := run.Step("escalation"); s.State != workflowtest.Waiting {
		t.Errorf("after two days the escalation is %s", s.State)
	}
}
