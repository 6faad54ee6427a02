package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func sale(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "papers/papers.yaml").AllowUnscripted()
	return w, w.Submit(map[string]any{"sale": "S-12"})
}

// The papers come in the wrong sequence and are handled in the right one.
func TestPapersInAnySequence(t *testing.T) {
	w, run := sale(t)
	for _, paper := range []string{"receipt", "deed", "contract"} {
		run.ExpectCalls("archive.file", 0)
		require.True(t, run.Event(paper, "notary", true).Accepted)
		w.Advance(40 * 24 * time.Hour)
	}
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	var filed []string
	for _, c := range run.Calls("archive.file") {
		var in struct{ Paper string }
		require.NoError(t, c.Into(&in))
		filed = append(filed, in.Paper)
	}
	require.Equal(t, []string{"contract", "deed", "receipt"}, filed)
}

// The deed has ten days. So has the receipt, but all papers together have 15.
func TestAPaperDoesNotCome(t *testing.T) {
	w, run := sale(t)
	require.True(t, run.Event("contract", "notary", true).Accepted)
	w.Advance(9 * 24 * time.Hour)
	run.ExpectCalls("archive.remove", 0)
	run.UntilEnd(2 * 24 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("archive.remove", 1)

	w, run = sale(t)
	require.True(t, run.Event("contract", "notary", true).Accepted)
	w.Advance(9 * 24 * time.Hour)
	require.True(t, run.Event("deed", "notary", true).Accepted)
	w.Advance(5 * 24 * time.Hour)
	run.ExpectCalls("archive.remove", 0)
	run.UntilEnd(2 * 24 * time.Hour)
	run.ExpectCompensated()
	require.Equal(t, "too-late", run.Task().Error.Code)
	run.ExpectCalls("archive.remove", 2)
}
