// Package protocol holds the [Task] of an order and all rules about it. It decides the effect of each event on a
// task in one pure function: [Decide]. Decide gets the definition, the order, the task, an event and the time.
// It returns the next task, and the effects to carry out after the commit.
//
// An event goes from top to bottom. Decide finds the cell of the transition table. The action of the cell changes
// one step, or the whole order (types step and decision). Then advance does everything that the new state allows:
// policies, waits, claims, undo and the end. Each part emits its effects. A repeated event, and a restart, change
// nothing and emit the effects again that the state still needs (emitAgain).
//
// Authority: Only this package decides what an event changes in a task. Callers store the result of Decide
// on the condition that the stored version is still the loaded version (P8, every commit is conditional).
// The Supervisor claims nothing (P16, the Supervisor hands back and gives up).
//
// States: Package core lists the states. The transition table in table.go has a cell for each state and
// event, and a test covers every cell.
//
// Failures: An event can come twice, late, or for an earlier attempt. A repeated event changes nothing. Its
// effects are derived from the task again, byte for byte (P12, effects are emitted again). The error
// core.ErrStale means that the loaded task is older than the event. A core.Refusal is the response to a
// command or a submission. A lost message delays a task, until a sweep of the Supervisor finds the task (P9,
// tasks not at rest are due).
//
// The package does no I/O, reads no clock, draws no random number and starts no goroutine. The argument [At]
// holds the time, and the instance's measurements of queues. Comments cite the rules of
// docs/explanation/protocol.md by number and name. Tests play the holes that are the reasons of rules (H1 to H33).
package protocol
