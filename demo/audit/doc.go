// Package audit proves from the ledgers of the demo's remote services that every processed order
// had each effect exactly once and every undone order none. It is the demo's second opinion: it
// shares no code with the engine, the services or the runner, knows only what an order should
// have caused and how a ledger is laid out, and opens the ledgers read-only.
//
// What it proves, for the orders that it is given:
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
// And for the ledgers as a whole: no effect of an order that was not given, no key that is not
// <order>/<run>/<step>, at most one do per key where the service recognises keys, no undo without
// its do before it, no undo that refunds another amount, no do after a fence, and stock and
// cards moved by exactly what the rows say.
package audit
