// Package port defines the actors' interfaces to the outside, the records that cross them, and their errors.
// Actors import this package and never an adapter. Every adapter passes the suites storetest and queuetest.
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
	// ErrExists means that a record exists that had to be absent.
	ErrExists = errors.New("already exists")
	// ErrNotFound means that the record, queue or definition does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the stored version is not the expected one. Load and decide again.
	ErrConflict = errors.New("version conflict")
	// ErrTooLarge means that the document or message exceeds the limit. Retrying does not help.
	ErrTooLarge = errors.New("too large")
	// ErrUnavailable means throttled, disk full or shutting down. The call may have taken effect. Retry
	// later.
	ErrUnavailable = errors.New("unavailable")
	// ErrReceipt means that the receipt is no longer valid: the message was deleted or received again.
	ErrReceipt = errors.New("receipt expired")
	// ErrHash means that the bytes of a definition do not match its hash.
	ErrHash = errors.New("not the bytes of that hash")
	// ErrCursor means that the cursor is not from a listing with the same query. Begin without a cursor.
	ErrCursor = errors.New("strange cursor")
	// ErrDamaged means that a stored document cannot be read. It stays unchanged, and no other one is
	// affected.
	ErrDamaged = errors.New("damaged document")
	// ErrStoreDamaged means that the store itself is damaged, so that reads can fail or miss records. A
	// person has to restore it.
	ErrStoreDamaged = errors.New("the database file is damaged")
)
