// Package supervisor is the Supervisor of the pattern Scheduler Agent Supervisor. Each sweep reads the due
// tasks from the index and makes events for the overdue parts. Package engine decides on the events and
// stores the tasks.
//
// Authority: the Supervisor counts failures, hands steps back, and gives steps up by the policy of the
// workflow (P16, the Supervisor hands back and gives up). It acts on deadlines, raises alerts, and sends Wake
// and Settle to the Scheduler. It never claims a step and never sends a request. It keeps every task in the
// index until the task is at rest (P9, tasks not at rest are due). The Supervisor does not restart processes,
// because the infrastructure restarts them.
//
// State: no decision depends on an earlier sweep. The index can be outdated, so the Supervisor loads and
// decides each task before it writes. Leases on shards prevent two instances from doing the same work.
// Without leases, the versions of tasks still prevent wrong writes.
//
// Failures: work that a sweep did not finish stays due for the next sweep. A task that cannot be read does
// not affect the other tasks. A step may be late because of a backlog in the agent's queue or in the queue of
// replies. The Supervisor hands back this step without a counted failure (P32, queue time is not a failure).
package supervisor
