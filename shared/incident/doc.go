// Package incident notifies the operator of orders in Error. It sends one notification for all orders that
// stop at the same step for the same reason.
//
// An incident is a workflow, a step and an error code with orders in Error. The first order opens it, and its
// alert is published at once. If more orders have stopped when its window closes, the next alert is
// published, and then another each time their number has doubled. An incident that lasts has reminders. The
// last alert states that no order is in Error any more.
//
// All open incidents are one document in a port.Ledger, changed with conditional writes. An order's Error is
// settled (P11, an end is reported until settled) when the document holds its incident. The state store knows
// the orders of an incident, so that none is counted twice or lost.
//
// No caller waits for a publication. Each runs concurrently, and the publisher bounds its time. A sweep
// repeats failed publications, and those that were lost with their process. So each alert is published at
// least once.
package incident
