// Package scheduler is the Scheduler of the pattern Scheduler Agent Supervisor. It takes submissions,
// replies, wakes and commands from queues. Package engine loads, decides and stores their tasks. The
// Scheduler acknowledges a message after the effects of the message are stored and sent.
//
// Authority: only the Scheduler creates tasks, claims steps and sends requests and statuses. Package protocol
// decides how a task changes. Any number of instances may run. If two instances decide on one task at the
// same time, the version of the task lets only one instance commit (P8, every commit is conditional).
//
// State: an instance keeps how long requests to agents last waited in their queues (P32, queue time is not a
// failure), and the lengths of some queues. An instance may lose this data. Everything else is in the task.
//
// Failures:
//   - A message that cannot be handled now returns to the queue. The other messages of the batch are not
//     affected (P13, delete after sending).
//   - An unreadable message goes to quarantine with the reason. So does a reply of an agent that was not
//     asked (P3, a reply names request and sender).
//   - If the process ends before the commit, the message comes again and is decided again.
//   - If the process ends after the commit, the message comes again, and its effects are sent again (P12,
//     effects are emitted again).
//   - An embedded process loses its queues when it ends. The next process calls Restart, which emits again
//     the messages that the tasks still need (P27, the embedded runtime survives its queues).
package scheduler
