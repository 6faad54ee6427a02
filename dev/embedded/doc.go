// Package embedded is the runtime of `stepkeeper dev`. It runs the Scheduler, the Agents and the Supervisor
// in one process. It stores state in SQLite. It keeps a queue in memory if a restart can rebuild the queue's
// messages.
//
// Authority: a lock on the data folder makes this process the only writer. The runtime acknowledges a
// submission or a command after the commit. It refuses new orders while too many orders are active.
//
// Failures: the process may end at any moment, because all acknowledged work is on disk. At the next start,
// the runtime first emits again the effects of every task that is not at rest. Then it accepts orders (P27,
// the embedded runtime survives its queues). SQLite stores the messages that a restart cannot rebuild:
// statuses, quarantine and dead letters. While the disk is full, the runtime acknowledges nothing.
package embedded
