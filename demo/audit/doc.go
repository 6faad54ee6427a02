// Package audit proves from the ledgers of the demo's remote services that every processed order had each
// effect exactly once, and every undone order had none. It is independent: it shares no code with the engine,
// the services or the runner. It uses only the expected effects of an order and the tables of a ledger, which
// it opens read-only.
//
// It proves for each given order, by the order's outcome:
//
//	processed        one reservation, one charge of the right amount in the right currency, one
//	                 booking if and only if something physical was bought, one confirmation;
//	                 reversed effects do not count
//	undone           no effect that was not reversed, and never a confirmation
//	refused          nothing ever reached any service
//	error            at most one of each that was not reversed, so that the operator can finish it
//	unfinished, lost always a violation: an unfinished order was acknowledged and has no end, and
//	                 the engine does not know a lost one
//
// It proves for the ledgers as a whole: no effect of an unknown order, no key of another form than
// <order>/<run>/<step>, at most one do per key if the service recognises keys, no undo without a do before
// it, no undo with another amount, no do after a fence, and balances of stock and cards that match the rows.
package audit
