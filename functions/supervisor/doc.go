// Package supervisor is the pattern's Supervisor: at each interval it reads from the index which tasks are
// due, makes events of what is overdue in them, and runs the loop of package engine.
//
// Authority: it counts a failure, hands a step back, gives it up by the policy of the workflow, acts on a
// deadline, raises an alert, and sends Wake and Settle to the Scheduler. It never claims a step, never sends
// a request (P16), and never takes a task that is not at rest out of the index (P9). It does not restart
// processes; the infrastructure does.
//
// State: none between two sweeps. The index is a hint: each task is loaded and decided on before anything is
// written. Leases on shards keep two instances from doing the same work; without them the version of the task
// still keeps it correct.
//
// Failures: whatever a sweep did not do stays due, for the next one. A task that cannot be read affects no
// other. A step that is late because its agent's queue, or the queue of replies, holds a backlog is handed
// back without a failure counted (P32).
package supervisor
