// Package services holds the four remote services of the demo: inventory, payment, shipping and notification.
// They are real HTTP servers on loopback, each with its own SQLite ledger, and they fail on purpose. They do
// not depend on Stepkeeper.
//
// They follow the usual convention of HTTP services:
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
// Undo operations need only the key. A refusal is 422 (the request can never succeed) or 409 (the key is
// fenced, or there is nothing to cancel), with {"error":{"code","message"}}.
//
// These tables can be audited. `ledger` is append-only and has one row per effect: kind (do, undo or fence),
// key, amount, unit and time. `accounts` has the opening and the present balance of stock and cards. `parts`
// has the amount that each row moved, by account.
package services
