// Package protocol decides what each event does to a task. It is one pure function, [Decide]: the definition,
// the order, the task and an event at a time go in; the next task and the effects to carry out after its
// commit come out.
//
// Authority: only this package says what a state may become. A task is a value; callers store what Decide
// returned, on the condition that the version is still the one that was loaded (P8), and change no field
// themselves. Who sends an event matters: the Supervisor's events claim nothing and lead to no request (P16).
//
// States: those of package core. table.go holds the cell of each state and event; a test goes through all of
// them.
//
// Failures: an event can come twice, late, or for an earlier attempt. One that was decided before changes
// nothing, and its effects are derived again, byte for byte, from what the task holds (P12). core.ErrStale
// means that the task was read too early; a core.Refusal is the answer to a command or a submission. Every
// task that is not at rest has a due time, so that lost messages delay it and never stop it (P9).
//
// Nothing here does I/O, reads a clock, draws a random number or starts a goroutine; time, and what an
// instance has measured of queues, arrive as the argument [At]. Rules are cited by their number in
// docs/protocol.md.
package protocol
