package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func watched(t *testing.T, clearAfter int) (*workflowtest.Run, time.Duration) {
	w := workflowtest.New(t, "weather/weather.yaml").AllowUnscripted()
	w.Agent("weather").On("is-clear").FailTimes(clearAfter, workflowtest.NotYet(30*time.Minute))
	run := w.Submit(map[string]any{"place": "Porto", "phone": "+351 1"}).UntilEnd(7 * time.Hour)
	return run, w.Now().Sub(workflowtest.Start)
}

// The service is asked every half an hour, and the owner is told once.
func TestTheSkyClears(t *testing.T) {
	run, took := watched(t, 4)
	run.ExpectProcessed()
	run.ExpectCalls("weather.is-clear", 5)
	run.ExpectCalls("sms.send", 1)
	run.ExpectOutput(map[string]any{"clear": true})
	require.InDelta(t, 2, took.Hours(), 0.1)
}

// After six hours the watch ends without a word, and without an operator.
func TestItRainsAllDay(t *testing.T) {
	run, took := watched(t, 100)
	run.ExpectProcessed()
	run.ExpectSkipped("tell")
	run.ExpectOutput(map[string]any{"clear": false})
	require.Equal(t, "late", run.Step("clear").Error.Code)
	require.InDelta(t, 6, took.Hours(), 0.1)
	require.Empty(t, run.Alerts())
}
