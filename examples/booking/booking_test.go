package booking_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func order(t *testing.T) json.RawMessage {
	data, err := os.ReadFile("order.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBooking(t *testing.T) {
	w := workflowtest.New(t, "workflows/booking.yaml")
	w.Agent("seats").On("reserve").Return(map[string]any{"reserveId": "r-1"})
	w.Agent("payments").On("charge").Return(map[string]any{"chargeId": "c-1"})

	run := w.Submit(order(t)).UntilEnd(time.Hour)

	run.ExpectProcessed()
	run.ExpectCalls("seats.reserve", 1)
	run.ExpectCalls("payments.charge", 1)
}

// A declined card releases the seat.
func TestDeclinedCard(t *testing.T) {
	w := workflowtest.New(t, "workflows/booking.yaml")
	w.Agent("seats").On("reserve").Return(nil)
	w.Agent("seats").On("release").Return(nil)
	w.Agent("payments").On("charge").Fail(workflowtest.Permanent("card-declined", "the card was declined"))
	w.Agent("payments").On("refund").Return(nil)

	run := w.Submit(order(t)).UntilEnd(time.Hour)

	run.ExpectCompensated()
	run.ExpectUndone("charge-card", "reserve-seat")
}
