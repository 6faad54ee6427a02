// Package scheduler is the pattern's Scheduler. It takes submissions, replies, wakes and commands from
// queues, runs the loop of package engine on their tasks, and acknowledges each message whose effects are
// stored and sent.
//
// Authority: it alone creates tasks, claims steps and sends requests and statuses. Package protocol decides
// how a task changes. Any number of instances may run. If two instances decide on one task, its version lets
// one of them commit (P8, every commit is conditional).
//
// State: only the queue waits of the agents' requests (P32, queue time is not a failure), which may be lost.
// Everything else is in the task.
//
// Failures: a message that cannot be handled now is returned to the queue. The others of its batch are not
// affected (P13, delete after sending). An unreadable message, or a reply of an agent that was not asked,
// goes to quarantine with the reason (P3, a reply names request and sender). If the process ends before the
// commit, the message returns and is decided again. After the commit, the message returns and its effects are
// sent again (P12, effects are emitted again). In an embedded process, whose queues end with it, Restart
// sends all open messages of the tasks (P27, the embedded runtime survives its queues).
package scheduler
