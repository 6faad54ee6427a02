// Package audit proves from the ledgers of the demo's remote services that every processed order had each
// effect exactly once, and every undone order had none. It is independent: it shares no code with the engine,
// the services or the runner. It uses only the expected effects of an order and the tables of a ledger, which
// it opens read-only.
//
// It proves for each given order, by the order's outcome:
//
//	processed        one reservation, one charge of the right amount in the right currency, one
//	                 booking if and only if something physical was bought, one confirmation; net
//	                 of what was reversed
//	undone           none of these, net, and never a confirmation
//	refused          nothing ever reached any service
//	error            at most one of each, net: the operator has to finish it, and can
//	unfinished, lost always a violation: the first was acknowledged and has no end, the second
//	                 the engine does not even know
//
// It proves for the ledgers as a whole: no effect of an unknown order, no key of another form than
// <order>/<run>/<step>, at most one do per key if the service recognises keys, no undo without a do before
// it, no undo with another amount, no do after a fence, and balances of stock and cards that match the rows.
package audit
