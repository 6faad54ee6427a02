// Package supervisor is the pattern's Supervisor. At each interval it reads the due tasks from the index,
// makes events for the overdue parts, and runs the loop of package engine.
//
// Authority: it counts a failure, hands a step back, gives it up by the policy of the workflow, acts on a
// deadline, raises an alert, and sends Wake and Settle to the Scheduler. It never claims a step, never sends
// a request (P16, the Supervisor hands back and gives up), and never takes a task that is not at rest out of
// the index (P9, tasks not at rest are due). It does not restart processes. The infrastructure does.
//
// State: none between two sweeps. The index is a hint: each task is loaded and decided before anything is
// written. Leases on shards prevent two instances from doing the same work. Without them the version of the
// task still keeps it correct.
//
// Failures: work that a sweep did not finish stays due for the next sweep. A task that cannot be read does
// not affect the other tasks. A step that is late because of a backlog in its agent's queue, or in the queue
// of replies, is handed back without a counted failure (P32, queue time is not a failure).
package supervisor
