// Package embedded is the runtime of `stepkeeper dev`: Scheduler, Agents and Supervisor in one process, state
// in SQLite, queues in memory if a restart can rebuild them. The package connects the actors with their
// adapters.
//
// Authority: a lock on the data folder makes this process the only writer. Submissions and commands are
// acknowledged after their commit; when too many tasks are open, intake refuses new orders until there is
// room.
//
// Failures: the process may end at any moment. Acknowledged work is on disk; at the next start every task
// that is not at rest is emitted again from its document, before any intake (P27, the embedded runtime
// survives its queues). Messages that cannot be rebuilt (statuses, quarantine, dead letters) are kept in
// SQLite. When the disk is full nothing is acknowledged.
package embedded
