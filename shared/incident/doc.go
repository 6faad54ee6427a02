// Package incident notifies the operator of orders in Error. An alert is about all orders that stop at the
// same step with the same error code. Undone orders, and refused new orders, have alerts too, see ID.
//
// An incident is a workflow, a step and an error code with orders in Error. It has these alerts:
//
//   - The first order opens the incident, and its alert is published at once.
//   - The next alert is published when the number of orders has doubled since the last alert, but not within
//     the window after the last alert.
//   - While the incident lasts, reminders are published.
//   - The last alert states that no order is in Error any more.
//
// One document in a port.Ledger contains all open incidents. It is changed with conditional writes. The Error
// of an order is settled when the document contains its incident (P11, an end is reported until settled). The
// state store contains the orders themselves, so the package counts no order twice and loses none.
//
// No caller waits for the publication of an alert, which runs in its own goroutine. A sweep publishes an
// alert again if the publication has failed or the process has ended. Therefore each alert is published at
// least once.
package incident
