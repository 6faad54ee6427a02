// Package sqlite stores all durable data in one SQLite file in a data folder. The data are tasks, orders,
// definitions, the ledger of agents, and the queues whose messages must survive the process: statuses,
// quarantine and dead letters.
//
// Authority: a process must lock the folder before it writes. It writes with one connection. The committer
// executes one transaction at a time. It executes all waiting operations in one transaction, and returns their
// results after one fsync. If the condition of an operation is false, only this operation fails.
//
// States: a write without an error is on the disk (WAL, synchronous=FULL). The committer caches the columns
// that it needs for the updates of running tasks. Readers have their own connections. Open refuses a file
// with a newer schema.
//
// Failures: port.ErrUnavailable means that the transaction was rolled back. After a process was killed, all
// acknowledged writes are stored, and perhaps some more. Open checks the file, and refuses a file that is
// damaged or lacks acknowledged commits (see sequenceName).
package sqlite
