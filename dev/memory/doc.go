// Package memory holds adapters that keep everything in the process: store, definitions, leases, ledger and
// queues. Tests and the simulator run on all of them; the embedded runtime uses the queues.
//
// Authority: that of an adapter: it holds every condition of the ports, and decides the order in which
// messages are received. It reads no clock and starts no goroutine: time comes from the port.Clock given, and
// the same calls have the same results.
//
// States: a message is delayed, visible, in flight or deleted. All of it ends with the process; the embedded
// runtime then emits all that is in progress again from the stored tasks (P27, the embedded runtime survives
// its queues).
//
// Failures: port.ErrConflict, port.ErrExists, port.ErrNotFound, port.ErrReceipt and port.ErrTooLarge, as the
// ports say. Nothing is ever unavailable.
package memory
