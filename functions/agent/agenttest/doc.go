// Package agenttest finds out which grade of service an agent and its remote service earn together: fenced,
// idempotent or plain (docs/explanation/protocol.md, Grades). A workflow declares the grade of each step, and
// Stepkeeper relies on it; a test with this package proves it.
//
//	func TestPaymentIsIdempotent(t *testing.T) {
//		agenttest.Earns(t, operations, agenttest.Probe{
//			Do: "charge", Undo: "refund", Input: []byte(`{"amount": 1}`),
//			Effects: func(key string) int { return sandbox.Charges(key) - sandbox.Refunds(key) },
//		}, agenttest.Idempotent)
//	}
//
// The product's own worker runs the operations, with its deadlines and its ledger for plain services. The
// trials cause the faults of production: duplicates, one after the other and at the same time; answers that
// are lost between service and agent, and between agent and Scheduler; further attempts; requests that come
// too late; an undo that comes before its do, and a do that comes after its undo; calls that take longer than
// their time; keys and fences that come again after many others. Every trial has its own key, which the
// service cannot have seen before.
//
// An agent in a separate process, in any language, is tested through its queues:
//
//	o, err := agenttest.Attach(t.Context(), "payment")
//	defer o.Close()
//	// start the agent with o.URL() as its endpoint
//	o.Earns(t, probe, agenttest.Idempotent)
//
// `stepkeeper agent test` does that without Go code. See docs/how-to/testing-agents.md.
//
// A report does not show how long the service remembers keys (only how many), or how long a call can take to
// arrive. The author has to declare these times (keyRetention, the step's timeout).
package agenttest
