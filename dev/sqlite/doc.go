// Package sqlite keeps all durable data in one SQLite file in a data folder: tasks, orders, definitions, an
// agent's ledger, and queues whose messages must survive the process (statuses, quarantine, dead letters).
//
// Authority: one connection writes, in the one process that has locked the folder. The committer, one
// goroutine, executes all waiting operations in one transaction, and returns their results after one fsync.
// If the condition of an operation does not hold, only that operation fails.
//
// States: a write that returned nil is on the disk (WAL, synchronous=FULL). The committer caches the data
// that it needs to replace running tasks. Readers have connections of their own. A file of a newer schema is
// refused.
//
// Failures: port.ErrUnavailable means that the group was rolled back. A process that is killed leaves all
// acknowledged writes, and perhaps more. Open checks the file, and refuses it if it is damaged or lacks
// acknowledged commits (see sequenceName).
package sqlite
