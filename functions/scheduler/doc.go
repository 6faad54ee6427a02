// Package scheduler is the pattern's Scheduler: it takes submissions, replies, wakes and commands from
// queues, runs the loop of package engine on their tasks, and acknowledges each message whose effects are
// stored and sent.
//
// Authority: it alone creates tasks, claims steps and sends requests and statuses. What becomes of a task is
// decided by package core. Any number of instances may run; the version of the task decides between two (P8).
//
// State: none, but for how long the agents' queues made requests wait (P32), which may be lost. Everything
// else is in the task.
//
// Failures: a message that cannot be handled now is returned to the queue, the others of its batch are not
// affected (P13). One that cannot be read, or comes from another agent than the one that was asked, goes to
// quarantine with the reason (P3). If the process ends before the commit, the message returns and is decided
// again; after it, the message returns and its effects are sent again (P12). Embedded, where queues end with
// the process, Restart sends what the documents say is under way (P27).
package scheduler
