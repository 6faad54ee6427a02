package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func sale(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "papers/papers.yaml")
	w.Agent("archive").On("file").Return(nil)
	w.Agent("archive").On("remove").Return(nil)
	return w, w.Submit(map[string]any{"sale": "S-12"})
}

func comes(t *testing.T, run *workflowtest.Run, paper string) {
	t.Helper()
	v := run.Event(paper, "notary", true)
	require.True(t, v.Accepted, v.Reason)
}

func filed(t *testing.T, run *workflowtest.Run) (papers []string) {
	t.Helper()
	for _, c := range run.Calls("archive.file") {
		var in struct{ Paper string }
		require.NoError(t, c.Into(&in))
		papers = append(papers, in.Paper)
	}
	return papers
}

// The papers come in the wrong sequence and are handled in the right one.
func TestPapersInAnySequence(t *testing.T) {
	w, run := sale(t)
	comes(t, run, "receipt")
	w.Advance(40 * 24 * time.Hour)
	comes(t, run, "deed")
	w.Advance(40 * 24 * time.Hour)
	require.Empty(t, filed(t, run))
	comes(t, run, "contract")
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	require.Equal(t, []string{"contract", "deed", "receipt"}, filed(t, run))
}

// The deed has ten days.
func TestTheDeedDoesNotCome(t *testing.T) {
	w, run := sale(t)
	comes(t, run, "contract")
	w.Advance(9 * 24 * time.Hour)
	run.ExpectCalls("archive.remove", 0)
	run.UntilEnd(2 * 24 * time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("archive.remove", 1)
}

// The receipt would have ten days after the deed, which has come on the ninth: but all have 15.
func TestAllOfThemHave15Days(t *testing.T) {
	w, run := sale(t)
	comes(t, run, "contract")
	w.Advance(9 * 24 * time.Hour)
	comes(t, run, "deed")
	w.Advance(5 * 24 * time.Hour)
	run.ExpectCalls("archive.remove", 0)
	run.UntilEnd(2 * 24 * time.Hour)
	run.ExpectCompensated()
	require.Equal(t, "too-late", run.Task().Error.Code)
	run.ExpectCalls("archive.remove", 2)
}
