// Package agenttest finds out which grade of service an agent and its remote service earn together:
// fenced, idempotent or plain (docs/explanation/protocol.md, Grades). A workflow declares the grade of
// each step, and Stepkeeper relies on it; this is how to know it instead of hoping.
//
//	func TestPaymentIsIdempotent(t *testing.T) {
//		agenttest.Earns(t, operations, agenttest.Probe{
//			Do: "charge", Undo: "refund", Input: []byte(`{"amount": 1}`),
//			Effects: func(key string) int { return sandbox.Charges(key) - sandbox.Refunds(key) },
//		}, agenttest.Idempotent)
//	}
//
// The operations are run by the product's own worker, with its deadlines and its ledger for plain
// services, against what happens in production: duplicates, one after the other and at the same
// time; answers that are lost between service and agent, and between agent and Scheduler; further
// attempts; requests that come too late; an undo that comes before its do, and a do that comes
// after its undo; calls that take longer than their time; keys and fences that come again after many
// others. Every trial has a key of its own, which the service cannot have seen before.
//
// An agent that is a process of its own, in whatever language, is tried through the queues that it takes
// its requests from:
//
//	o, err := agenttest.Attach(t.Context(), "payment")
//	defer o.Close()
//	// start the agent with o.URL() as its endpoint
//	o.Earns(t, probe, agenttest.Idempotent)
//
// `stepkeeper agent test` does that without a line of Go. See docs/how-to/testing-agents.md.
//
// What a trial cannot see is not in its report: how long the service remembers keys (only how many), and how
// long a call can be under way before it lands. Those remain for the author to declare (keyRetention, the
// step's timeout).
package agenttest
