// Package schedule says when a workflow with a schedule starts, and keeps what became of each start. It is
// pure: times come in as arguments, and the record goes out as data that the Supervisor stores with a
// conditional write.
//
// States: a start is planned, then sent; a scheduled time that starts nothing is skipped, with the reason.
// Record.Next is the first scheduled time that has been decided in neither way.
//
// Failures: a start is stored before it is sent, and sent again until a later write says that it was. The
// order's ID is made of the workflow and the scheduled time, so that a start that is sent twice is one order
// (P14).
package schedule
