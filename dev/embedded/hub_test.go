package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

const (
	asks  = core.Processing // a request is with an agent
	waits = core.Waiting
	rests = core.Processed
)

// version makes a version of a task of one step, after one in another state of the step; an empty text means
// no earlier version.
func version(id string, version int64, was, is core.State) state.Change {
	made := func(version int64, is core.State) *protocol.Task {
		t := &protocol.Task{
			OrderID: id, Version: version, ProcessState: core.Processing, Due: 1,
			Steps: []protocol.Step{{Name: "a", First: protocol.First{Nth: 1}, State: is}},
		}
		if is == rests {
			t.ProcessState = core.Processed
			t.Due = 0
		}
		return t
	}
	c := state.Change{Task: made(version, is)}
	if was != "" {
		c.Before = made(version-1, was)
	}
	return c
}

// A signal of changes comes for the order that was asked for, or for any order.
func TestSignalsOfChanges(t *testing.T) {
	h := newHub()
	s := &Runtime{hub: h}
	ctx, cancel := context.WithCancel(t.Context())
	one := s.Changes(ctx, "a")
	all := s.Changes(ctx, "")
	h.committed(version("b", 1, "", asks))
	require.Empty(t, one)
	require.Len(t, all, 1)
	h.committed(version("a", 1, "", asks))
	require.Len(t, one, 1)
	require.Len(t, all, 1, "signals that nobody has taken merge")
	cancel()
	synced(t, h)
}

// synced waits until nothing watches any more.
func synced(t *testing.T, h *hub) {
	t.Helper()
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.watchers) == 0
	}, 10*time.Second, time.Millisecond)
}

// Commits of one task may be reported in the wrong order. An older one does not make a task active that has
// come to rest or waits, or intake would stop for good after enough of them. An end is counted once.
func TestOlderVersionsMakeNothingActive(t *testing.T) {
	h := newHub()
	for i, step := range []struct {
		change state.Change
		want   int // active tasks after it
	}{
		{version("a", 1, "", asks), 1},
		{version("b", 1, "", asks), 2},
		{version("a", 3, asks, rests), 1},
		{version("a", 2, asks, asks), 1},
		{version("a", 4, rests, rests), 1},
		{version("b", 3, asks, waits), 0},
		{version("b", 2, asks, asks), 0},
		{version("b", 5, waits, asks), 1},
		{version("b", 4, waits, waits), 1},
		{version("b", 6, asks, core.Pending), 1}, // an attempt that will be repeated
		{version("b", 7, asks, core.UndoWait), 1},
		{version("b", 8, asks, core.Failed), 1},
		{version("b", 9, asks, rests), 0},
		{version("b", 10, rests, asks), 1},
		{version("b", 11, asks, rests), 0},
		{version("c", 1, "", rests), 0},
		{version("d", 1, "", waits), 0},
		{version("d", 2, waits, rests), 0},
	} {
		h.committed(step.change)
		require.Equal(t, step.want, h.activeOrders(), "%+v", i)
	}
	c := h.counts()
	require.EqualValues(t, 5, c["ended-Processed"])
	require.Zero(t, c["running"])
}

// A version that is stored while the present one is loaded wakes who waits: of the two, the later one counts.
func TestAVersionThatComesDuringTheLoadIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first := version("a", 1, "", asks).Task
		got, err := h.wait(ctx, "a", func() (*protocol.Task, error) {
			h.committed(version("a", 2, asks, rests))
			return first, nil
		}, (*protocol.Task).Terminal)
		require.NoError(t, err)
		require.EqualValues(t, 2, got.Version)
		got, err = h.wait(ctx, "a", func() (*protocol.Task, error) {
			go h.committed(version("a", 3, rests, asks)) // a later load would see it
			return got, nil
		}, func(t *protocol.Task) bool { return t.Version == 3 })
		require.NoError(t, err)
		require.Empty(t, h.watchers)
		failed := errors.New("failed")
		_, err = h.wait(ctx, "a", func() (*protocol.Task, error) {
			return nil, failed
		}, nil)
		require.ErrorIs(t, err, failed)
		require.Empty(t, h.watchers)
	})
}

// What is remembered of tasks at rest is bounded: the oldest is forgotten first.
func TestTasksAtRestAreForgotten(t *testing.T) {
	h := newHub()
	for i := range 4096 + 10 {
		h.committed(version(fmt.Sprint(i), 2, asks, rests))
	}
	for _, id := range []string{"10", fmt.Sprint(4096 + 9), "9"} { // an older version that comes late
		require.Zero(t, h.activeOrders(), id)
		h.committed(version(id, 1, "", asks))
	}
	require.Equal(t, 1, h.activeOrders(), "9 is forgotten")
}

// A slow reader gets the newest version, and not one that came late.
func TestSlowReadersGetTheNewest(t *testing.T) {
	h := newHub()
	w, stop := h.watch("a", func(*protocol.Task) bool { return true })
	for _, n := range []int64{1, 3, 2} {
		h.committed(version("a", n, asks, asks))
	}
	if <-w.wake; w.newest.Version != 3 {
		t.Errorf("version %d came, want 3", w.newest.Version)
	}
	stop()
	h.committed(version("a", 4, asks, rests))
	require.Empty(t, w.wake)
	require.EqualValues(t, 3, w.newest.Version)
	require.Empty(t, h.watchers)
}

// A version that the waiter does not accept leaves it asleep. At the end of its time it gets that version.
func TestAWaiterSleepsThroughOtherVersions(t *testing.T) {
	h := newHub()
	w, stop := h.watch("a", (*protocol.Task).Terminal)
	h.committed(version("a", 1, "", asks))
	require.Empty(t, w.wake)
	h.committed(version("a", 2, asks, rests))
	require.Len(t, w.wake, 1)
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	got, err := h.wait(ctx, "b", func() (*protocol.Task, error) {
		h.committed(version("b", 2, asks, asks))
		cancel()
		return version("b", 1, "", asks).Task, nil
	}, (*protocol.Task).Terminal)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 2, got.Version)
}
