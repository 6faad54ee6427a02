// Package protocol decides the effect of each event on a task. Its core is one pure function, [Decide]. Its
// arguments are the definition, the order, the task, an event and the time. It returns the next task, and the
// effects to carry out after the commit.
//
// Authority: only this package changes the state of a task. A task is a value. Callers store the result of
// Decide on the condition that the version is still the loaded one (P8, every commit is conditional), and
// change no field themselves. The Supervisor claims nothing (P16, the Supervisor hands back and gives up).
//
// States: those of package core. table.go has a cell for each state and event, and a test covers all of them.
//
// Failures: an event can come twice, late, or for an earlier attempt. A repeated event changes nothing. Its
// effects are derived again from the task, byte for byte (P12, effects are emitted again). core.ErrStale
// means that the task was read too early. A core.Refusal is the response to a command or a submission. Lost
// messages delay a task and never stop it, because a sweep finds it (P9, tasks not at rest are due).
//
// Nothing here does I/O, reads a clock, draws a random number or starts a goroutine. The argument [At] holds
// the time, and the instance's measurements of queues. Rules are cited by number and name,
// as in docs/explanation/protocol.md.
package protocol
