// Package schedule computes when a workflow with a schedule starts, and records the result of each start. It
// is pure: times are arguments, and the record is data that the Supervisor stores with a conditional write.
//
// States: a start is planned, then sent. A scheduled time without a start is skipped, with the reason.
// Record.Next is the first scheduled time that is neither.
//
// Failures: a start is stored before it is sent, and sent again until a later write records that it was sent.
// The order's ID consists of the workflow and the scheduled time, so that a start that is sent twice creates
// one order (P14, submit creates once).
package schedule
