// Package core decides what each event does to a task. It is one pure function, [Decide]: the definition, the
// order, the task and an event at a time go in; the next task and the effects to carry out after its commit
// come out.
//
// Authority: only this package says what a state may become. [Task] is a value; callers store what Decide
// returned, on the condition that the version is still the one that was loaded (P8), and change no field
// themselves. Who sends an event matters: the Supervisor's events claim nothing and lead to no request (P16).
//
// States: a task is Processing until it is Processed, Compensating until it is Compensated or Cancelled, in
// Error until an operator's command, or Closed. A step is Pending, Skipped, Processing, Waiting, Processed,
// Failed, UndoWait, Compensating or Compensated. table.go holds the cell of each state and event; a test goes
// through all of them.
//
// Failures: an event can come twice, late, or for an earlier attempt. One that was decided before changes
// nothing, and its effects are derived again, byte for byte, from what the task holds (P12). [ErrStale] means
// that the task was read too early; a [Refusal] is the answer to a command or a submission. Every task that
// is not at rest has a due time, so that lost messages delay it and never stop it (P9).
//
// Nothing here does I/O, reads a clock, draws a random number or starts a goroutine; time, and what an
// instance has measured of queues, arrive as the argument [At]. Rules are cited by their number in
// docs/explanation/protocol.md.
package core
