// Package incident tells the operator of orders in Error: once for all that stop at the same step for the same reason,
// not once for each.
//
// An incident is a workflow, a step and an error code of which orders are in Error. It is opened by the first order, and
// told at once. When its window closes it is told again if more have stopped meanwhile, and later each time their number has
// doubled; after a time, that they are still there; and at last, that none is in Error any more.
//
// All open incidents are one document in a port.Ledger, changed with conditional writes. An order's Error is settled (P11) when
// its incident stands there: which orders belong to it the state store knows, so that nothing has to be counted twice or can be
// lost. What could not be told, because the process died or the sink failed, the next sweep tells; so each is told at
// least once.
package incident
