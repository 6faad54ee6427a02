package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func made(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "appointment/appointment.yaml").AllowUnscripted()
	return w, w.Submit(map[string]any{"email": "ann@shop.example", "at": "2026-01-15T12:00:00Z"})
}

// What is no time is refused, and changes nothing.
func TestItIsNotMoved(t *testing.T) {
	w, run := made(t)
	w.Advance(24 * time.Hour)
	require.False(t, run.Event("new-time", "desk", "next week").Accepted)
	run.UntilEnd(15 * 24 * time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"at": "2026-01-15T12:00:00Z", "moved": 0})
	require.InDelta(t, 14, w.Now().Sub(workflowtest.Start).Hours()/24, 0.1)
}

// It is moved to a later day, and then to an earlier one: one mail goes out, on that day.
func TestItIsMovedTwice(t *testing.T) {
	w, run := made(t)
	w.Advance(24 * time.Hour)
	require.True(t, run.Event("new-time", "desk", "2026-02-20T12:00:00Z").Accepted)
	w.Advance(20 * 24 * time.Hour)
	run.ExpectCalls("mail.send", 0)
	require.True(t, run.Event("new-time", "desk", "2026-01-25T12:00:00Z").Accepted)
	run.UntilEnd(5 * 24 * time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"at": "2026-01-25T12:00:00Z", "moved": 2})
	run.ExpectCalls("mail.send", 1)
}
