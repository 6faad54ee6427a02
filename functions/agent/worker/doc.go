// Package worker handles requests: it calls the operation of the remote service that a request names, and
// sends a reply. Package functions/agent runs it for authors of agents.
//
// Authority: it decides about the calls to one service, within the time of the request. It writes its own
// ledger and no part of the task. It uses only the ports and the messages, and does not depend on the
// workflow or on the kind of the queues.
//
// States of a ledger entry, for operations of a plain service and points of no return (P31, a plain service
// needs a ledger): none, started, done, failed, later, repeated, fenced, undo-started. Each move is a
// conditional write, before the call and after it.
//
// Failures:
//   - Before stopBy less the clock skew only, a do or undo begins side effects and the agent sends replies
//     (P6, two times in each request; P25, agents are silent after stopBy). The agent drops a request that
//     comes too late without a reply, and the Supervisor finds its step overdue.
//   - The request is deleted only after the queue has accepted its reply. Until then it comes again, with the
//     same key. A bad message never affects the rest of its batch.
//   - An operation of a plain service is called at most once per key, unless its first call is proven to have
//     had no effect (P31).
//   - An unreadable message goes to quarantine. A message of a newer schema returns to the queue, because
//     another instance may know the schema.
//   - An output over MaxOutput is a permanent failure with a clear text (P28, what is too large fails once).
//     The output of an undo is not used (P24, an undo needs no output).
package worker
