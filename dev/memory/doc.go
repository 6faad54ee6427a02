// Package memory implements interfaces of package port in the memory of the process: store, definitions,
// leases, ledger and queues. Tests and the simulator use all of them. The embedded runtime uses the queues
// and the leases.
//
// Authority: each type enforces the conditions of its interface. A queue decides the order in which messages
// are received. The package starts no goroutine, and reads the time only from the given port.Clock. Therefore
// a test that repeats its calls gets the same results.
//
// States: a message is delayed, visible, in flight or deleted. When the process ends, all messages are lost.
// At its next start, the embedded runtime sends again the messages that the stored tasks still need (P27, the
// embedded runtime survives its queues).
//
// Failures: port.ErrConflict, port.ErrExists, port.ErrNotFound, port.ErrReceipt and port.ErrTooLarge, as
// package port documents them. The package never returns port.ErrUnavailable.
package memory
