package embedded

import (
	"fmt"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// stored is a version of a task that is under way, or has come to rest.
func stored(id string, version int64, atRest bool) *core.Task {
	t := &core.Task{OrderID: id, Version: version, ProcessState: core.Processing, Due: 1}
	if atRest {
		t.ProcessState, t.Due = core.Processed, 0
	}
	return t
}

// Commits of one task may come in the wrong order. An older one does not open a task again that has
// come to rest, or intake would stop for good after enough of them; one that goes on again is open.
func TestOlderVersionsOpenNothing(t *testing.T) {
	h := newHub()
	for _, step := range []struct {
		task *core.Task
		want int // tasks that are open then
	}{
		{stored("a", 1, false), 1}, {stored("b", 1, false), 2},
		{stored("a", 3, true), 1}, {stored("b", 3, true), 0},
		{stored("a", 2, false), 0}, {stored("b", 2, false), 0}, {stored("b", 2, true), 0},
		{stored("b", 2, false), 0}, {stored("b", 3, false), 0},
		{stored("b", 4, false), 1}, {stored("b", 5, true), 0},
	} {
		h.committed(step.task)
		if got := h.running(); got != step.want {
			t.Errorf("after version %d of %s, due %d: %d tasks are open, want %d", step.task.Version, step.task.OrderID, step.task.Due, got, step.want)
		}
	}
	if c := h.counts(); c["ended-Processed"] != 3 || c["running"] != 0 {
		t.Errorf("counts are %v, want 3 ends", c)
	}
}

// What is remembered of tasks at rest is bounded: the oldest is forgotten first.
func TestTasksAtRestAreForgotten(t *testing.T) {
	h := newHub()
	kept := len(h.order)
	for i := range kept + 10 {
		h.committed(stored(fmt.Sprint(i), 2, true))
	}
	if len(h.closed) != kept || h.closed["9"] != 0 || h.closed["10"] != 2 || h.closed[fmt.Sprint(kept+9)] != 2 {
		t.Errorf("%d are remembered, of at most %d", len(h.closed), kept)
	}
}

// A slow reader gets the newest version, and not one that came late.
func TestSlowReadersGetTheNewest(t *testing.T) {
	h := newHub()
	changes, stop := h.watch("a")
	for _, version := range []int64{1, 3, 2} {
		h.committed(stored("a", version, false))
	}
	if got := <-changes; got.Version != 3 {
		t.Errorf("version %d came, want 3", got.Version)
	}
	stop()
	h.committed(stored("a", 4, true))
	select {
	case got := <-changes:
		t.Errorf("version %d came after the end of the watch", got.Version)
	default:
	}
	if len(h.watchers) > 0 {
		t.Errorf("%d watches are left", len(h.watchers))
	}
}
