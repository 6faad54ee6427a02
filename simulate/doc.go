// Package simulate runs a workflow against everything that can go wrong. The Scheduler, the Supervisor and
// the agents' worker with its ledger are the real ones. The store, the queues, the clocks, the alarm and the
// remote services are simulated.
//
// Time is virtual. There is one heap of events, and each handler runs in a coroutine that yields before and
// after every call of a port, so that a crash, a delay or a duplicate can fall anywhere. Every choice goes
// through one [Chooser]: a seed, a recorded tape, or the bytes of a fuzzer. The same choices give the same
// run, to the last event.
//
// A run has two phases. First faults happen, and the invariants are checked after every step. Then the faults
// stop, and every order must end within a bound. A simulated operator repairs the orders that stop in Error.
package simulate
