package examples_test

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func agency(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "trip/trip.yaml").AllowUnscripted()
	w.Agent("flights").On("reserve").Return(map[string]any{"ticket": "T-1", "price": 120})
	w.Agent("cars").On("reserve").Return(map[string]any{"price": 80})
	return w
}

func TestTheTripIsBooked(t *testing.T) {
	run := agency(t).Submit(map[string]any{"to": "Porto"}).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectPath("flight", "car", "pay", "confirm-flight", "confirm-car")
	run.ExpectOutput(map[string]any{"ticket": "T-1", "paid": 200})
}

// Wherever it fails, all before it is undone in reverse. The confirmations have nothing to undo, and wait for nothing.
func TestEachFailureIsUndoneInReverse(t *testing.T) {
	for _, c := range []struct {
		agent, operation string
		undone           []string
	}{
		{"flights", "reserve", []string{"flight"}},
		{"cars", "reserve", []string{"car", "flight"}},
		{"payment", "charge", []string{"pay", "car", "flight"}},
		{"flights", "confirm", []string{"confirm-flight", "pay", "car", "flight"}},
		{"cars", "confirm", []string{"confirm-flight", "confirm-car", "pay", "car", "flight"}},
	} {
		w := agency(t)
		w.Agent(c.agent).On(c.operation).Fail(workflowtest.Permanent("refused", "it is not possible"))
		run := w.Submit(map[string]any{"to": "Porto"}).UntilEnd(time.Hour)
		run.ExpectCompensated()
		run.ExpectUndone(c.undone...)
	}
}
