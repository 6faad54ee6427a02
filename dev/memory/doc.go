// Package memory holds adapters that keep everything in the process: store, definitions, leases, ledger and
// queues. Tests and the simulator run on all of them; the embedded runtime uses the queues.
//
// Authority: as an adapter it enforces every condition of the ports, and decides the order in which messages
// are received. It starts no goroutine, and the given port.Clock is its only source of time, so the same
// calls have the same results.
//
// States: a message is delayed, visible, in flight or deleted. All messages are lost with the process. The
// embedded runtime then sends the open messages again, from the stored tasks (P27, the embedded runtime
// survives its queues).
//
// Failures: port.ErrConflict, port.ErrExists, port.ErrNotFound, port.ErrReceipt and port.ErrTooLarge, as the
// ports document them. port.ErrUnavailable never occurs.
package memory
