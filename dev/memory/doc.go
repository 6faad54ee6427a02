// Package memory holds the adapters that keep everything in the process: store, definitions,
// leases, ledger and queues. Tests and the simulator run on all of them; the embedded mode uses
// the queues, which is safe because the state store rebuilds what a restart loses (P27).
//
// Nothing here reads the machine's clock: time comes from the port.Clock given, so that a
// simulator decides what time it is. No goroutine is started, and the same calls give the same answers.
package memory
