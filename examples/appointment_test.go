package examples_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const appointmentOrder = `{"email":"ann@shop.example","at":"2026-01-15T12:00:00Z"}`

func made(t *testing.T) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "appointment/appointment.yaml")
	w.Agent("mail").On("send").Return(nil)
	return w, w.Submit(json.RawMessage(appointmentOrder))
}

func moved(t *testing.T, w *workflowtest.Workflow, run *workflowtest.Run, at string) {
	t.Helper()
	v := run.Event("new-time", "desk", at)
	require.True(t, v.Accepted, v.Reason)
	w.Advance(time.Second)
}

func TestItIsNotMoved(t *testing.T) {
	w, run := made(t)
	run.UntilEnd(15 * 24 * time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"at": "2026-01-15T12:00:00Z", "moved": 0})
	require.InDelta(t, 14, w.Now().Sub(workflowtest.Start).Hours()/24, 0.1)
}

// It is moved to a later day, and then to an earlier one: one mail goes out, on that day.
func TestItIsMovedTwice(t *testing.T) {
	w, run := made(t)
	w.Advance(24 * time.Hour)
	moved(t, w, run, "2026-02-20T12:00:00Z")
	w.Advance(20 * 24 * time.Hour)
	run.ExpectCalls("mail.send", 0)
	moved(t, w, run, "2026-01-25T12:00:00Z")
	run.UntilEnd(5 * 24 * time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"at": "2026-01-25T12:00:00Z", "moved": 2})
	run.ExpectCalls("mail.send", 1)
}

// What is no time is refused, and changes nothing.
func TestATimeThatIsNone(t *testing.T) {
	w, run := made(t)
	w.Advance(24 * time.Hour)
	require.False(t, run.Event("new-time", "desk", "next week").Accepted)
	run.UntilEnd(15 * 24 * time.Hour)
	run.ExpectOutput(map[string]any{"at": "2026-01-15T12:00:00Z", "moved": 0})
}
