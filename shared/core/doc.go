// Package core holds the values that all parts of Stepkeeper share: the [Definition] of a workflow, events,
// effects, statuses, IDs and times. Package protocol decides what each event does. The package does no I/O, reads no
// clock, draws no random number and starts no goroutine.
package core
