package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func drafted(t *testing.T) *workflowtest.Run {
	w := workflowtest.New(t, "sign-off/sign-off.yaml").AllowUnscripted()
	run := w.Submit(map[string]any{"supplier": "Acme"})
	return run.UntilStep("legal", workflowtest.Waiting, time.Minute)
}

func signOffAnswer(t *testing.T, run *workflowtest.Run, step, by, value string) {
	t.Helper()
	v := run.Answer(step, by, value)
	require.True(t, v.Accepted, v.Reason)
}

func TestAllOfThemSign(t *testing.T) {
	run := drafted(t)
	signOffAnswer(t, run, "security", "sam", "sign")
	signOffAnswer(t, run, "legal", "lena", "sign")
	run.ExpectCalls("contracts.send", 0)
	signOffAnswer(t, run, "finance", "finn", "sign")
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.JSONEq(t, `{"signedBy":["lena","finn","sam"]}`, string(run.Calls("contracts.send")[0].Input))
}

// The first refusal ends it: nobody else is asked any longer.
func TestOneOfThemRefuses(t *testing.T) {
	run := drafted(t)
	signOffAnswer(t, run, "legal", "lena", "sign")
	signOffAnswer(t, run, "finance", "finn", "refuse")
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.False(t, run.Answer("security", "sam", "sign").Accepted)
	run.ExpectCalls("contracts.send", 0)
	run.ExpectCalls("contracts.discard", 1)
}

func TestOneOfThemDoesNotAnswer(t *testing.T) {
	run := drafted(t)
	signOffAnswer(t, run, "legal", "lena", "sign")
	signOffAnswer(t, run, "finance", "finn", "sign")
	run.UntilEnd(15 * 24 * time.Hour)
	run.ExpectCompensated()
	require.Equal(t, "answer-timeout", run.Step("security").Error.Code)
}
