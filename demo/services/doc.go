// Package services implements the four remote services of the demo: inventory, payment, shipping and
// notification. They share an HTTP server on the loopback interface, and each has its own ledger. The
// services fail on purpose. They do not depend on Stepkeeper.
//
// The services have these endpoints:
//
//	POST /<service>/<operation>            Idempotency-Key: <key>, body = input   2xx = output
//	GET  /<service>/<operation>?key=<key>  200 = the effect stands, 404 = it does not
//
//	service       operations        grade
//	inventory     reserve, release  fenced: after a release, a reserve with the same key is refused
//	payment       charge, refund    idempotent: a refund without a charge succeeds without effect
//	shipping      book, cancel      plain: every accepted call books or cancels a parcel
//	notification  confirm           idempotent, without undo
//
// The operations have these inputs and outputs. The services ignore other members of an input:
//
//	reserve  {"items":[{"sku":"MUG-01","quantity":2}]}           {"reservationId":"…"}
//	charge   {"card":"tok_…","amount":1999,"currency":"EUR"}     {"chargeId":"…", …}    minor units
//	book     {"shipTo":{"country":"DE"}}                         {"shipmentId":"…"}
//	confirm  anything                                            {"messageId":"…"}
//
// An undo needs only the key. A service refuses a call with one of two statuses:
//
//   - 422 if the call can never succeed
//   - 409 if the key was released before, or if there is nothing to cancel
//
// The body of a refusal is {"error":{"code","message"}}.
//
// A ledger is a file to which a service only appends. Each line is one row as a JSON object, with its kind, key,
// amount, unit, output and time. The kind is do, undo or fence. A fence is a row for an undo that found no do. The
// parts of a row are the quantities that it has moved, by account, such as a card, and the balances after that.
package services
