package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func applied(t *testing.T, group string) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "insurance/insurance.yaml").AllowUnscripted()
	w.Agent("risk").On("assess").Return(map[string]any{"group": group})
	w.Agent("policies").On("issue").Return(map[string]any{"policy": "P-1"})
	run := w.Submit(map[string]any{"name": "Ann"})
	w.Advance(time.Second)
	return w, run
}

// The rule decides alone where it can.
func TestTheRuleDecides(t *testing.T) {
	for group, policies := range map[string]int{"green": 1, "red": 0} {
		_, run := applied(t, group)
		run.UntilEnd(time.Minute)
		run.ExpectProcessed()
		run.ExpectSkipped("check")
		run.ExpectCalls("policies.issue", policies)
	}
}

// The clerk asks for two documents before the decision, and sees the last one.
func TestTheClerkAsksForDocuments(t *testing.T) {
	w, run := applied(t, "yellow")
	for _, event := range []string{"more-documents", "document", "more-documents", "document"} {
		require.True(t, run.Event(event, "web", "a driving licence").Accepted)
		w.Advance(time.Second)
	}
	run.ExpectCalls("mail.request", 2)
	require.True(t, run.Child("check", 2).Answer("ask-clerk", "carl", "accept").Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"policy": "P-1"})
}

// The clerk is reminded every two days, and rejects at last.
func TestTheClerkIsReminded(t *testing.T) {
	w, run := applied(t, "yellow")
	w.Advance(5 * 24 * time.Hour)
	run.ExpectCalls("mail.ask", 3)
	require.True(t, run.Child("check", 0).Answer("ask-clerk", "carl", "reject").Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"policy": nil})
	run.ExpectCalls("mail.tell", 1)
}

// A document that is asked for and does not come undoes the application.
func TestTheDocumentDoesNotCome(t *testing.T) {
	_, run := applied(t, "yellow")
	require.True(t, run.Event("more-documents", "web", "a driving licence").Accepted)
	run.UntilEnd(31 * 24 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("policies.issue", 0)
}
