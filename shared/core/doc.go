// Package core holds the values that all parts of Stepkeeper share: the [Definition] of a workflow, the
// [Task] of an order with its steps, events, effects, and times. Package protocol decides what each event
// does to a task.
//
// Authority: none. Only package protocol decides what an event changes in a [Task].
//
// States: A task is Processing, Processed, Compensating, Compensated, Cancelled, Closed or in Error. A step
// is Pending, Skipped, Processing, Waiting, Processed, Failed, UndoWait, Compensating or Compensated. The
// constants of [State] describe these states.
//
// The package does no I/O, reads no clock, draws no random number and starts no goroutine. Its comments cite
// the rules of docs/explanation/protocol.md by the letter P and a number.
package core
