// Package supervisor is the Supervisor of the pattern Scheduler Agent Supervisor. Each sweep reads the due
// tasks from the index and makes events for the overdue parts. Package engine decides on the events and
// stores the tasks.
//
// The Supervisor counts failures, hands steps back, and gives steps up by the policy of the workflow (P16, the
// Supervisor hands back and gives up). It never claims a step and never sends a request. No decision depends on an
// earlier sweep, and work that a sweep did not finish stays due for the next one. Leases on shards only save work,
// because the versions of tasks prevent wrong writes.
package supervisor
