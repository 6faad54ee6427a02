// Package core holds the values that all parts of Stepkeeper share: the [Definition] of a workflow, the
// [Task] of an order with its steps, the events that happen to a task, the effects that follow, and times.
// Its functions only read them. Package protocol decides what each event does to a task.
//
// Authority: none. A [Task] is a value, and only package protocol makes its next version.
//
// States: a task is Processing until it is Processed, Compensating until it is Compensated or Cancelled, in
// Error until an operator's command, or Closed. A step is Pending, Skipped, Processing, Waiting, Processed,
// Failed, UndoWait, Compensating or Compensated.
//
// Nothing here does I/O, reads a clock, draws a random number or starts a goroutine. Rules are cited by their
// number in docs/explanation/protocol.md.
package core
