// Package agenttest finds out which grade of service an agent and its remote service earn together.
// The grades are fenced, idempotent and plain (docs/explanation/protocol.md). A workflow declares the
// grade of each step, and Stepkeeper relies on the declared grade. A test with this package checks
// that the agent and the service earn the grade.
//
//	func TestPaymentIsIdempotent(t *testing.T) {
//		agenttest.Earns(t, operations, agenttest.Probe{
//			Do: "charge", Undo: "refund", Input: []byte(`{"amount": 1}`),
//			Effects: func(key string) int { return sandbox.Charges(key) - sandbox.Refunds(key) },
//		}, agenttest.Idempotent)
//	}
//
// Package worker runs the operations, with deadlines and with a ledger for plain services, as in
// production. The trials cause faults that happen in production:
//
//   - duplicate requests, one after the other and at the same time;
//   - lost responses of the service, and lost replies of the agent;
//   - further attempts with the same key;
//   - requests that come too late;
//   - an undo before its do, and a do after its undo;
//   - calls that take longer than their timeout;
//   - a repeated do, and a do after its undo, once the service has seen many other keys.
//
// Each trial has a new key, so the service cannot have seen the key before.
//
// A test reaches an agent in a separate process, in any language, through the agent's queues:
//
//	o, err := agenttest.Attach(t.Context(), "payment")
//	defer o.Close()
//	// start the agent with o.URL() as its endpoint
//	o.Earns(t, probe, agenttest.Idempotent)
//
// The command `stepkeeper agent test` runs these trials without Go code. See docs/how-to/testing-agents.md.
//
// A report does not show how long the service remembers keys, or how long a call can take to arrive.
// The author of the workflow must declare these two times, as keyRetention and as the step's timeout.
package agenttest
