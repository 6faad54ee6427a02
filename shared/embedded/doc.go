// Package embedded is the runtime of `stepkeeper dev`: Scheduler, Agents and Supervisor in one
// process, state in SQLite, queues in memory where a restart can rebuild them. It is the place
// where the actors are wired to adapters.
//
// The process may die at any moment. What was acknowledged is on disk; at the next start every
// task that is not at rest is emitted again from its document, before any intake (P27).
package embedded
