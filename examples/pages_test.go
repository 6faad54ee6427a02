package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func pages(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "pages/pages.yaml").AllowUnscripted()
	w.Agent("archive").On("read").
		Return(map[string]any{"next": "p2", "items": 10}).
		Return(map[string]any{"next": "p3", "items": 20}).
		Return(map[string]any{"next": nil, "items": 5})
	return w
}

func tokens(t *testing.T, calls []workflowtest.Call) (all []string) {
	t.Helper()
	for _, call := range calls {
		var in struct{ Token string }
		require.NoError(t, call.Into(&in))
		all = append(all, in.Token)
	}
	return all
}

// Each page is asked for with the token of the one before, and the total is carried from page to page.
func TestAllPagesAreCounted(t *testing.T) {
	run := pages(t).Submit(map[string]any{"first": "p1"}).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"items": 35})
	require.Equal(t, []string{"p1", "p2", "p3"}, tokens(t, run.Calls("archive.read")))
}

// The order is undone after the last page: the pages are released, the last one first.
func TestThePagesAreReleasedInReverse(t *testing.T) {
	w := pages(t)
	w.Agent("mail").On("send").Fail(workflowtest.Permanent("refused", "no such address"))
	run := w.Submit(map[string]any{"first": "p1"}).UntilEnd(time.Minute)
	run.ExpectCompensated()
	require.Equal(t, []string{"p3", "p2", "p1"}, tokens(t, run.Calls("archive.release")))
}

// An archive that never ends is left after 200 pages, and all of them are released.
func TestAListWithoutAnEnd(t *testing.T) {
	w := pages(t)
	w.Agent("archive").On("read").Return(map[string]any{"next": "again", "items": 1})
	run := w.Submit(map[string]any{"first": "p1"}).UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("archive.read", 200)
	run.ExpectCalls("archive.release", 200)
	require.Equal(t, "exhausted", run.Step("count").Error.Code)
}
