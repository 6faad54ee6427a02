// Package sqlite keeps everything that must survive in one SQLite file in a data folder: tasks,
// orders, definitions, an agent's ledger, and queues whose messages must not die with the
// process (statuses, quarantine, dead letters).
//
// One connection writes. A caller that writes hands an operation to the committer, one
// goroutine, which carries out everything that waits in one transaction, and answers all of it
// after the one fsync. While it waits for the disk the next group gathers; with nothing waiting an
// operation commits alone and at once. A condition that does not hold is the answer of its own
// operation and does not affect the others of its group.
//
// What was answered with nil is on the disk (WAL, synchronous=FULL). What was answered with
// port.ErrUnavailable was rolled back. A process killed in between leaves what was answered, and
// perhaps more.
//
// The file says whether a process has it open. After an unclean end it is checked as a whole, and
// refused where its log is missing; a file of an older schema is upgraded, see migrations.
//
// Readers have connections of their own and never wait for the writer. Because the folder is
// locked for one process, the store keeps the newest records of running tasks in memory and
// answers Load from there.
package sqlite
