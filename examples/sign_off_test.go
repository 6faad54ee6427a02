package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// signed returns a contract that the legal department has signed.
func signed(t *testing.T) *workflowtest.Run {
	w := workflowtest.New(t, "sign-off/sign-off.yaml").AllowUnscripted()
	run := w.Submit(map[string]any{"supplier": "Acme"}).UntilStep("legal", workflowtest.Waiting, time.Minute)
	require.True(t, run.Answer("legal", "lena", "sign").Accepted)
	return run
}

func TestAllOfThemSign(t *testing.T) {
	run := signed(t)
	require.True(t, run.Answer("security", "sam", "sign").Accepted)
	run.ExpectCalls("contracts.send", 0)
	require.True(t, run.Answer("finance", "finn", "sign").Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.JSONEq(t, `{"signedBy":["lena","finn","sam"]}`, string(run.Calls("contracts.send")[0].Input))
}

// The first refusal ends it: nobody else is asked any longer.
func TestOneOfThemRefuses(t *testing.T) {
	run := signed(t)
	require.True(t, run.Answer("finance", "finn", "refuse").Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.False(t, run.Answer("security", "sam", "sign").Accepted)
	run.ExpectCalls("contracts.send", 0)
	run.ExpectCalls("contracts.discard", 1)
}

func TestOneOfThemDoesNotAnswer(t *testing.T) {
	run := signed(t)
	require.True(t, run.Answer("finance", "finn", "sign").Accepted)
	run.UntilEnd(15 * 24 * time.Hour)
	run.ExpectCompensated()
	require.Equal(t, "answer-timeout", run.Step("security").Error.Code)
}
