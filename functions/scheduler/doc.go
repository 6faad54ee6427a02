// Package scheduler is the Scheduler of the pattern Scheduler Agent Supervisor. It takes submissions,
// replies, wakes and commands from queues. Package engine loads, decides and stores their tasks. The
// Scheduler acknowledges a message after the effects of the message are stored and sent, so that a message comes again
// if the process ends before (P12, effects are emitted again; P13, delete after sending).
//
// Only the Scheduler creates tasks, claims steps and sends requests and statuses. Any number of instances may run. An
// instance keeps how long requests to agents last waited (P32, queue time is not a failure), and the lengths of some
// queues, and may lose both. An embedded process loses its queues when it ends, and the next one calls Restart (P27,
// the embedded runtime survives its queues).
package scheduler
