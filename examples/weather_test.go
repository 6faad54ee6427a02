package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

var weatherOrder = map[string]any{"place": "Porto", "phone": "+351 1"}

func watched(t *testing.T, clearAfter int) (*workflowtest.Workflow, *workflowtest.Run) {
	w := workflowtest.New(t, "weather/weather.yaml")
	w.Agent("weather").On("is-clear").FailTimes(clearAfter, workflowtest.NotYet(30*time.Minute))
	w.Agent("sms").On("send").Return(nil)
	return w, w.Submit(weatherOrder)
}

// The service is asked every half an hour, and the owner is told once.
func TestTheSkyClears(t *testing.T) {
	w, run := watched(t, 4)
	run.UntilEnd(7 * time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("weather.is-clear", 5)
	run.ExpectCalls("sms.send", 1)
	run.ExpectOutput(map[string]any{"clear": true})
	require.InDelta(t, 2, w.Now().Sub(workflowtest.Start).Hours(), 0.1)
}

// After six hours the watch ends without a word, and without an operator.
func TestItRainsAllDay(t *testing.T) {
	w, run := watched(t, 100)
	run.UntilEnd(7 * time.Hour)
	run.ExpectProcessed()
	run.ExpectSkipped("tell")
	run.ExpectOutput(map[string]any{"clear": false})
	require.Equal(t, "late", run.Step("clear").Error.Code)
	require.InDelta(t, 6, w.Now().Sub(workflowtest.Start).Hours(), 0.1)
	require.Empty(t, run.Alerts())
}
