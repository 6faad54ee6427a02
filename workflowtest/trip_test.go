package workflowtest_test

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// A trip is a seat and a room; if one of them is not to be had, neither is kept.
const trip = `workflow: trip
steps:
  book-seat:
    agent: airline
    operation: book
    input: {flight: "${ order.flight }"}
    timeout: 2s
    onFailure: undo
    undo: cancel
    grade: fenced
  book-room:
    agent: hotel
    operation: book
    after: [book-seat]
    timeout: 2s
    onFailure: undo
    undo: cancel
    grade: idempotent
`

func TestTripWithoutARoom(t *testing.T) {
	w := workflowtest.NewFromYAML(t, trip) // workflowtest.New(t, "trip.yaml") reads a file
	w.Agent("airline").On("book").Return(map[string]any{"seat": "12A"})
	w.Agent("airline").On("cancel").Return(nil)
	w.Agent("hotel").On("book").Fail(workflowtest.Permanent("full", "no room is left"))
	w.Agent("hotel").On("cancel").Return(nil)

	run := w.Submit(map[string]any{"flight": "SK 1"}).UntilEnd(time.Hour)

	run.ExpectCompensated()
	run.ExpectUndone("book-room", "book-seat")
	run.ExpectCalls("airline.book", 1)
}
