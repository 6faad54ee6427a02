package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func site(t *testing.T, names ...string) *workflowtest.Workflow {
	w := workflowtest.New(t, "backup/backup.yaml").AllowUnscripted()
	w.Agent("files").On("list").Return(map[string]any{"names": append([]string{}, names...)})
	w.Agent("store").On("copy").Func(func(c workflowtest.Call) (any, error) {
		var in struct{ Name string }
		err := c.Into(&in)
		if in.Name == "secret" {
			return nil, workflowtest.Permanent("forbidden", "the file cannot be read")
		}
		return map[string]int{"bytes": len(in.Name)}, err
	}).After(time.Second)
	return w
}

// Four files, three at a time, take two seconds.
func TestTheSizesAreAddedUp(t *testing.T) {
	w := site(t, "a", "bb", "ccc", "dddd")
	run := w.Submit(map[string]any{"folder": "/srv"}).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"files": 4, "bytes": 10})
	require.InDelta(t, 2, w.Now().Sub(workflowtest.Start).Seconds(), 0.1)
}

func TestAnEmptyFolder(t *testing.T) {
	run := site(t).Submit(map[string]any{"folder": "/srv"}).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"files": 0, "bytes": 0})
}

// One file that cannot be copied leaves no copy at all.
func TestAFileThatCannotBeCopied(t *testing.T) {
	run := site(t, "a", "secret", "ccc", "dddd", "eeeee").Submit(map[string]any{"folder": "/srv"}).UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.Child("copied", 0).ExpectCompensated()
	run.Child("copied", 0).ExpectCalls("store.delete", 1)
}
