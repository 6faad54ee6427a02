package workflowtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// t stands for the *testing.T of a test of your own, which an example does not get.
var t testing.TB = inExample{}

type inExample struct{ testing.TB }

func (inExample) Helper()                         {}
func (inExample) Context() context.Context        { return context.Background() }
func (inExample) Errorf(format string, a ...any)  { fmt.Printf(format+"\n", a...) }
func (inExample) Fatalf(format string, a ...any)  { panic(fmt.Sprintf(format, a...)) }
func (inExample) Logf(format string, args ...any) {}

const room = `workflow: room
agents:
  hotel: {queueAllowance: 5s}
  card: {queueAllowance: 5s}
steps:
  reserve:
    agent: hotel
    operation: reserve
    timeout: 5s
    retry: {maxFailures: 1, backoff: {initial: 1s, max: 1s}}
    onFailure: undo
    undo: release
    grade: fenced
  charge:
    agent: card
    operation: charge
    after: [reserve]
    timeout: 5s
    retry: {maxFailures: 3, backoff: {initial: 1s, max: 1s}}
    onFailure: undo
    undo: refund
    grade: fenced
`

// The service declines the card. The order undoes the charge, and then the reservation.
func Example() {
	w := workflowtest.NewFromYAML(t, room)
	w.Agent("hotel").On("reserve").Return(map[string]any{"room": 12})
	w.Agent("hotel").On("release").Return(nil)
	w.Agent("card").On("charge").Fail(workflowtest.Permanent("card-declined", "the card was declined"))
	w.Agent("card").On("refund").Return(nil)

	run := w.Submit(map[string]any{"nights": 2})
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("charge", "reserve")
	fmt.Println(run.Task().State, run.Task().Error.Code)
	// Output: Compensated card-declined
}

// The service fails once. The step calls it again after the backoff, on the test's clock.
func ExampleOperation_Fail() {
	w := workflowtest.NewFromYAML(t, room)
	w.Agent("hotel").On("reserve").Return(nil)
	w.Agent("card").On("charge").Fail(workflowtest.Transient("card-busy", "try again")).Return("paid")

	run := w.Submit(map[string]any{"nights": 2})
	run.UntilEnd(time.Minute)
	run.ExpectCalls("card.charge", 2)
	fmt.Println(run.Task().State)
	// Output: Processed
}
