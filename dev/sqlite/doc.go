// Package sqlite keeps all that must survive in one SQLite file in a data folder: tasks, orders, definitions,
// an agent's ledger, and queues whose messages must not end with the process (statuses, quarantine, dead
// letters).
//
// Authority: one connection writes, of the one process that has locked the folder. The committer, one
// goroutine, carries out all operations that wait in one transaction, and answers them after one fsync. A
// condition that does not hold is the answer of its operation alone.
//
// States: what was answered with nil is on the disk (WAL, synchronous=FULL). Of running tasks the committer
// remembers what it needs to replace them; readers have connections of their own. A file of a newer schema is
// refused.
//
// Failures: port.ErrUnavailable: the group was rolled back. A process killed in between leaves what was
// answered, and perhaps more. At the start the file is checked, and refused if it is damaged or lacks commits
// that were answered (see sequenceName).
package sqlite
