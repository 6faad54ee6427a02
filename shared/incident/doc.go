// Package incident notifies the operator of orders in Error: once for all that stop at the same step for the
// same reason, not once for each.
//
// An incident is a workflow, a step and an error code of which orders are in Error. The first order opens it,
// and its alert is published at once. When its window closes the next one is published if more have stopped
// meanwhile, and later each time their number has doubled; after a time a reminder; and at last, that none is
// in Error any more.
//
// All open incidents are one document in a port.Ledger, changed with conditional writes. An order's Error is
// settled (P11) when its incident stands there: which orders belong to it the state store knows, so that
// nothing has to be counted twice or can be lost.
//
// No caller waits for a publication: each runs beside the caller, and what publishes bounds its time. A sweep
// starts again what failed, or what was lost with its process. So each alert is published at least once.
package incident
