// Package workflowtest runs a workflow file against fake agents, in memory, on a clock that the
// test moves:
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
// Scheduler, Supervisor and the agents' side (deadlines, silence past stopBy, the ledger of plain
// services) are the product's own; only the remote services are fakes. One thing is left out: an
// agent's own retries within one attempt. What a fake answers is what the agent replies.
//
// No real time passes, no goroutine is started, and nothing is drawn at random: the same test
// takes the same path each time, down to the millisecond. Nothing moves by itself either: after
// Submit, or a command, call Advance, UntilEnd or UntilStep.
//
// Child orders run in the same test. Calls and ExpectCalls of an order count the calls of its children too;
// all else is of one order alone, and Child finds that of a child:
//
//	run.ExpectCalls("carrier.send", 6)
//	run.Child("ship", 1).ExpectUndone("send", "pick")
//
// A Workflow belongs to one test and must be used from that test's goroutine.
package workflowtest
