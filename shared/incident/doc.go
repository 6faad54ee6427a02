// Package incident notifies the operator of orders in Error. An incident consists of the orders of one
// workflow that stop at the same step with the same error code. Undone orders and refused new orders have
// incidents of their own, see ID.
//
// An incident of orders in Error has these alerts:
//
//   - The first order opens the incident. Its alert is published at once.
//   - A reminder, with the number of orders, is published at intervals while orders are in Error.
//   - The last alert states that no order is in Error any more.
//
// An incident of undone orders has the first alert only, and ends Config.Window later. While MostOpen incidents
// are open, further orders in Error have no alert. A sweep opens their incidents when there is a place.
//
// One document in a port.Ledger contains all open incidents. Each write of the document is conditional. The
// Error of an order is settled when the document contains the order's incident (P11, an end is reported until
// settled). A sweep counts the orders in the state store, so a repeated alert counts no order twice.
//
// Each publication of an alert runs in its own goroutine, and no caller waits for it. A sweep publishes an
// alert again if the publication has failed or the process has ended. Therefore each alert is published at
// least once.
package incident
