// Package schedule computes when a workflow with a schedule starts, and records the starts. It does no I/O of
// its own except to load and store a record in a port.Ledger. Times are arguments.
//
// States: a start is first planned and then sent. A scheduled time without a start is skipped, with a reason.
// Record.Next is the first scheduled time that is neither planned nor skipped.
//
// Failures: the Supervisor stores a start before it sends the order. It sends the order again until it has
// recorded that the order was sent. The order ID consists of the workflow and the scheduled time. A start
// that is sent twice therefore creates one order (P14, submit creates once).
package schedule
