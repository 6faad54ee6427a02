// Package workflowtest runs a workflow file against fake agents, in memory, on a clock that the test moves:
//
//	w := workflowtest.New(t, "order.yaml")
//	w.Agent("payment").On("charge").Fail(workflowtest.Permanent("card-declined", "the card was declined"))
//	w.Agent("inventory").On("reserve").Return(map[string]any{"reservationId": "r-1"})
//	w.Agent("inventory").On("release").Return(nil)
//	…
//	run := w.Submit(order)
//	run.UntilEnd(time.Minute)
//	run.ExpectCompensated()
//	run.ExpectUndone("charge-payment", "reserve-inventory")
//
// Only the remote services are fakes. The Scheduler, the Supervisor and the agents' worker run the code that
// also runs in production. In a test, an agent does not retry within an attempt: the result of the fake is
// the agent's reply.
//
// No real time passes, no goroutine starts, and nothing is random. A test therefore takes the same path each
// time, down to the millisecond. Nothing happens by itself: call Advance, UntilEnd or UntilStep after Submit
// or a command.
//
// Child orders run in the same test. The calls of an order, in Calls and ExpectCalls, include the calls of
// its child orders. All other methods concern one order alone. Child returns the Run of a child order:
//
//	run.ExpectCalls("carrier.send", 6)
//	run.Child("ship", 1).ExpectUndone("send", "pick")
//
// A Workflow belongs to one test and must be used from that test's goroutine.
package workflowtest
