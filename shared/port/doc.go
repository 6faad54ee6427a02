// Package port holds what the actors need of the outside: small interfaces, the records that cross them, and
// their errors. Actors know these and never an adapter; every adapter passes the suites in storetest and
// queuetest.
//
// Authority: a Store accepts a write only if the version is the one expected, and creates a task only if no
// order of its ID was ever stored. A Ledger accepts a move only from the entry that was read. Leases save
// work and protect nothing. The index behind Due is a hint.
//
// States: a message is visible, in flight for its visibility timeout, or deleted; it can be delivered more
// than once and in any order.
//
// Failures: each method's comment names its errors. ErrUnavailable means "perhaps": the call may have taken
// effect, and repeating it must be safe. ErrConflict and ErrNotFound are definite.
package port

import "errors"

var (
	// ErrExists: a record that had to be absent is there.
	ErrExists = errors.New("already exists")
	// ErrNotFound: there is no such record, queue or definition.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the stored version is another than expected; load and decide again.
	ErrConflict = errors.New("version conflict")
	// ErrTooLarge: the document or message is over the limit; it will never fit.
	ErrTooLarge = errors.New("too large")
	// ErrUnavailable: throttled, disk full, shutting down. Nothing is known to be stored; try again later.
	ErrUnavailable = errors.New("unavailable")
	// ErrReceipt: the receipt is not valid any more: the message was deleted or received again.
	ErrReceipt = errors.New("receipt expired")
	// ErrHash: the bytes of a definition are not those that its hash names.
	ErrHash = errors.New("not the bytes of that hash")
	// ErrCursor: a listing was asked to go on from a place that is none of its own; begin without a cursor.
	ErrCursor = errors.New("strange cursor")
	// ErrDamaged: a stored document cannot be read. It stays as it is; no other one is affected.
	ErrDamaged = errors.New("damaged document")
	// ErrStoreDamaged: the store itself is damaged, so that reads can fail or find nothing. A person has
	// to restore it.
	ErrStoreDamaged = errors.New("the database file is damaged")
)
