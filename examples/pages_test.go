package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func pages(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "pages/pages.yaml")
	w.Agent("archive").On("read").
		Return(map[string]any{"next": "p2", "items": 10}).
		Return(map[string]any{"next": "p3", "items": 20}).
		Return(map[string]any{"next": nil, "items": 5})
	w.Agent("archive").On("release").Return(nil)
	w.Agent("mail").On("send").Return(nil)
	return w
}

// Each page is asked for with the token of the one before, and the total is carried from page to page.
func TestAllPagesAreCounted(t *testing.T) {
	run := pages(t).Submit(map[string]any{"first": "p1"})
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"items": 35})
	run.ExpectCalls("archive.read", 3)
	var tokens []string
	for _, call := range run.Calls("archive.read") {
		var in struct{ Token string }
		require.NoError(t, call.Into(&in))
		tokens = append(tokens, in.Token)
	}
	require.Equal(t, []string{"p1", "p2", "p3"}, tokens)
}

// The order is undone after the last page: the pages are released, the last one first.
func TestThePagesAreReleasedInReverse(t *testing.T) {
	w := workflowtest.New(t, "pages/pages.yaml")
	w.Agent("archive").On("read").
		Return(map[string]any{"next": "p2", "items": 10}).
		Return(map[string]any{"next": nil, "items": 20})
	w.Agent("archive").On("release").Return(nil)
	w.Agent("mail").On("send").Fail(workflowtest.Permanent("refused", "no such address"))
	run := w.Submit(map[string]any{"first": "p1"})
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	var tokens []string
	for _, call := range run.Calls("archive.release") {
		var in struct{ Token string }
		require.NoError(t, call.Into(&in))
		tokens = append(tokens, in.Token)
	}
	require.Equal(t, []string{"p2", "p1"}, tokens)
}

// An archive that never ends is left after 200 pages, and all of them are released.
func TestAListWithoutAnEnd(t *testing.T) {
	w := workflowtest.New(t, "pages/pages.yaml")
	w.Agent("archive").On("read").Return(map[string]any{"next": "again", "items": 1})
	w.Agent("archive").On("release").Return(nil)
	run := w.Submit(map[string]any{"first": "p1"})
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("archive.read", 200)
	run.ExpectCalls("archive.release", 200)
	require.Equal(t, "exhausted", run.Step("count").Error.Code)
}
