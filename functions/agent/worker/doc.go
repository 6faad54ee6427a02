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
//   - A side effect begins only before stopBy less the clock skew, do and undo alike, and nothing is sent
//     after it (P6, two times in each request; P25, agents are silent after stopBy). A request that comes too
//     late is dropped without a reply; the Supervisor finds its step overdue.
//   - The request is deleted only after its reply was taken by the queue; until then it comes again, with the
//     same key. A bad message never affects the rest of its batch.
//   - An operation of a plain service is called at most once per key, unless its first call is proven to have
//     had no effect (P31).
//   - What cannot be read goes to quarantine; a newer schema is returned to the queue, since another instance
//     may know it.
//   - An output over MaxOutput is a permanent failure with a clear text (P28, what is too large fails once).
//     The output of an undo is not used (P24, an undo needs no output).
package worker
