// Package worker handles requests: it calls the operation of the remote service that a request names, and
// sends a reply. Package functions/agent runs a worker for authors of agents.
//
// Authority: a worker decides about the calls to one service, within the time of the request. It writes its
// own ledger and no part of the task. It imports no implementation of queues and loads no definition, so it
// does not depend on the kind of the queues or on workflows.
//
// States of a ledger entry, for operations of a plain service and points of no return (P31, a plain service
// needs a ledger): none, started, done, failed, later, repeated, fenced, undo-started. The worker changes the
// state by conditional writes, before the call and after the call.
//
// Failures:
//   - The worker begins calls and sends replies only before stopBy less the clock skew (P6, two times in each
//     request; P25, agents are silent after stopBy). It drops a late request and sends no reply. The
//     Supervisor then finds the step overdue.
//   - The worker acknowledges a request after the queue has accepted the reply. Until then the request can
//     come again, with the same key. A bad message never affects the other messages of its batch.
//   - The worker calls an operation of a plain service once per key. It repeats the call only if the first
//     call provably had no effect, or if the operator states this (P31).
//   - An unreadable message goes to quarantine. A message of a newer schema returns to the queue, because
//     another instance may know the schema.
//   - An output larger than MaxOutput is a permanent failure (P28, what is too large fails once).
//     The output of an undo is not used (P24, an undo needs no output).
package worker
