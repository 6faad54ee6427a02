// Package port defines the interfaces between the actors and their infrastructure, such as stores and queues.
// It also defines the records and the errors of these interfaces. An adapter implements the interfaces for
// one infrastructure, such as AWS or SQLite. Actors import this package and never an adapter. Every adapter
// passes the tests of the packages storetest and queuetest.
//
// The index that Store.Due reads is a hint and may be outdated, and leases only save work. A queue can deliver a
// message more than once, and in any order. After ErrUnavailable the call may have taken effect, so every call must
// be safe to repeat. After ErrConflict or ErrNotFound the call has had no effect.
package port

import "errors"

var (
	// ErrExists means that the record to create exists already.
	ErrExists = errors.New("already exists")
	// ErrNotFound means that the record, queue or definition does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the stored version is not the expected version. The caller loads the record and
	// decides again.
	ErrConflict = errors.New("version conflict")
	// ErrTooLarge means that the document or message exceeds the limit. Retrying does not help.
	ErrTooLarge = errors.New("too large")
	// ErrUnavailable means that the store or queue cannot execute the call now, for example because it
	// throttles calls or its disk is full. The call may have taken effect. The caller retries later.
	ErrUnavailable = errors.New("unavailable")
	// ErrForbidden means that the caller may not use the queue or its key.
	ErrForbidden = errors.New("forbidden")
	// ErrReceipt means that a receipt is not valid, for example because the message was received again.
	ErrReceipt = errors.New("receipt expired")
	// ErrHash means that the bytes of a definition do not match its hash.
	ErrHash = errors.New("not the bytes of that hash")
	// ErrCursor means that the cursor does not come from a listing with the same query. Begin the listing
	// again without a cursor.
	ErrCursor = errors.New("strange cursor")
	// ErrStoreDamaged means that the store itself is damaged: reads can fail or miss records. An operator
	// must restore the store.
	ErrStoreDamaged = errors.New("the database file is damaged")
)
