// Package services holds the four remote services of the demo: inventory, payment, shipping and
// notification. They are real HTTP servers on loopback, each with an SQLite ledger of its own, and
// they misbehave on purpose. They know nothing of Stepkeeper.
//
// The convention is that of any well-kept HTTP service:
//
//	POST /<operation>            Idempotency-Key: <key>, body = input   2xx = output
//	GET  /<operation>?key=<key>  200 = it happened, 404 = it did not
//
//	service       operations        grade
//	inventory     reserve, release  fenced: release forbids a later reserve of that key
//	payment       charge, refund    idempotent: a refund of nothing succeeds and leaves no trace
//	shipping      book, cancel      plain: every accepted call books, or cancels, one more parcel
//	notification  confirm           idempotent, cannot be undone
//
// Inputs (other members are ignored) and outputs:
//
//	reserve  {"items":[{"sku":"MUG-01","quantity":2}]}           {"reservationId":"…"}
//	charge   {"card":"tok_…","amount":1999,"currency":"EUR"}     {"chargeId":"…", …}    minor units
//	book     {"shipTo":{"country":"DE"}}                         {"shipmentId":"…"}
//	confirm  anything                                            {"messageId":"…"}
//
// Undo operations need the key only. A refusal is 422 (the request can never succeed) or 409 (the
// key is fenced, or there is nothing to cancel), with {"error":{"code","message"}}.
//
// Two tables can be audited: `ledger`, one row per effect, append-only (kind do, undo, or fence;
// key; amount; unit; time), and `accounts` (stock and cards: opened with, balance now) with
// `parts` (which row moved how much of which account).
package services
