// Package worker is the engine of an Agent: it takes a request, calls the operation of the remote
// service that the request names, and answers a reply.
//
// It has no authority over the workflow. It knows the port, the messages and a library for retry
// and circuit breaker; neither where its queues are nor what its operations do.
//
// What it promises, crash by crash:
//   - A side effect begins only before stopBy less the clock skew, do and undo alike, and nothing
//     is sent after it (P6, P25). A request that comes too late is dropped without an answer.
//   - The request is deleted only after its reply was taken; until then it comes again, with the
//     same key. One bad message never harms its neighbours.
//   - Operations of a plain service are called at most once per key, by a ledger (P31).
//   - What cannot be read goes to quarantine; a newer schema is given back (rule 7 of the protocol's
//     envelopes: another instance may know it).
//   - An output over MaxOutput is a permanent failure with a clear text (P28). The output of an undo is
//     not used, whatever it is (P24).
package worker
