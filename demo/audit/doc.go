// Package audit checks the ledgers of the demo's remote services. It proves that every processed order had
// each effect exactly once, and that no undone order has an effect left.
//
// The package shares no code with Stepkeeper, the services or the runner. It uses only the expected effects
// of an order and the rows of a ledger.
//
// The audit checks each order by its outcome:
//
//	processed   The order has one reservation, one charge of the right amount and currency, and one
//	            confirmation. It has one booking if and only if it contains something to ship.
//	            Effects that were undone do not count.
//	undone      Every effect of the order was undone. It never had a confirmation.
//	refused     No ledger has a row for the order.
//	error       The order has each effect at most once, so that the operator can finish it.
//	unfinished  The order was acknowledged and has not ended, which is a violation.
//	lost        The order was acknowledged and Stepkeeper does not know it, which is a violation.
//
// The audit also checks each ledger as a whole:
//
//   - Every effect belongs to a known order.
//   - Every key has the form <order>/<run>/<step>. The effects of a child order <order>~<step>~<index> are those of
//     the order.
//   - A fenced or idempotent service has at most one do for each key.
//   - Every undo follows a do and has the same amount.
//   - No do follows a fence of its key. A fence is a row for an undo that found no do.
//   - At the fenced service, no do follows an undo of its key.
//   - The balance of each account matches the rows.
package audit
