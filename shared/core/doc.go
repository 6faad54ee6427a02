// Package core holds the values that all parts of Stepkeeper share: the [Definition] of a workflow, events,
// effects, statuses, IDs and times. Package protocol holds the task of an order, and decides what each event
// does to it.
//
// States: A task is Processing, Processed, Compensating, Compensated, Cancelled, Closed or in Error. A step
// is Pending, Skipped, Processing, Waiting, Processed, Failed, UndoWait, Compensating or Compensated. The
// constants of [State] describe these states.
//
// The package does no I/O, reads no clock, draws no random number and starts no goroutine. Its comments cite
// the rules of docs/explanation/protocol.md by the letter P and a number.
package core
