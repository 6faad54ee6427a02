// Package protocol holds the [Task] of an order and all rules about it. [Decide] is the only function that decides
// what an event changes in a task. It gets the definition, the order, the task, an event and the time, and returns the
// next task and the effects to carry out after the commit. Comments cite the rules of docs/explanation/protocol.md.
//
// An event goes from top to bottom. Decide finds the cell of the transition table. The action of the cell changes
// one step, or the whole order (types step and decision). Then advance does everything that the new state allows:
// policies, waits, claims, undo and the end. Each part emits its effects. A repeated event, and a restart, change
// nothing and emit the effects again that the state still needs, byte for byte (emitAgain, P12).
//
// The package does no I/O, reads no clock, draws no random number and starts no goroutine. The argument [At]
// holds the time, and the instance's measurements of queues.
package protocol
