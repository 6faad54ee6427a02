package port

import (
	"context"
	"strconv"
	"time"
)

// MaxDocument is the largest document of a task that a Store accepts, in bytes: DynamoDB's item limit of 400
// KB, less space for the index attributes. A step whose output does not fit fails with `output-too-large`. A
// stopped or undoing order drops the output, and shortens error texts to their codes. Part of the document is
// a reserve for later data. Stepkeeper refuses a workflow whose reserve is too large (about 300 steps).
const MaxDocument = 396 << 10

// MaxOrder is the largest order, in bytes: SQS bills 64 KiB as one request. The Scheduler refuses a larger
// order. The quarantine keeps the order's hash and its first 40,000 bytes.
const MaxOrder = 64 << 10

// Bucket names a part of the index of tasks in a Store.
type Bucket string

// Buckets of a task.
const (
	NoBucket Bucket = "" // the task is at rest, in a final state other than Error
	// DueBucket holds the tasks that the Supervisor processes when they are due (P9, tasks not at rest are
	// due).
	DueBucket       Bucket = "due"
	AttentionBucket Bucket = "attention" // the task is in Error, and the operator has an alert
	// DamagedBucket holds the tasks that cannot be read (P60, a damaged order is set aside). IndexAt is
	// the time of the next attempt to read the task.
	DamagedBucket Bucket = "damaged"
)

// Record is a stored task. The Store does not interpret Document.
type Record struct {
	ID       string
	Version  int64 // 1 for a new record
	State    string
	Workflow string
	Created  time.Time
	Bucket   Bucket
	IndexAt  time.Time // sort key in the bucket, in whole milliseconds
	Document []byte    // JSON
	// Hash is the hash of the order's content, if the Store keeps it beside the document. Only Load and List
	// set Hash. A Write has a Hash of its own.
	Hash string
	// Damage is the reason why Document is not what Commit stored, or "". Only Load and List set it.
	Damage string
}

// Write is one conditional write (P8, every commit is conditional). Record.Version must be Expected + 1.
//
// If Expected is 0, the write creates a record. The write succeeds only if no order with this ID was ever
// stored (P14, submit creates once; P26, an ID never runs twice).
//
// If Expected is larger than 0, Record replaces the stored record. The stored version must be Expected.
type Write struct {
	Record   Record
	Expected int64
	// Hash is the hash of the order's content. The store keeps the hash after the order has expired. These
	// writes need Hash:
	//
	//   - a write that creates a record,
	//   - a write with Apart,
	//   - the write that brings an order to rest, if the orders of the store expire.
	//
	// The hash is "" if a Cancel came before its order (P17, a cancel is kept).
	Hash string
	// Apart reports whether the content is stored in an item or row of its own, under Hash. Each write of an
	// order says the same.
	Apart bool
	// Content is the order's content. It is set only if the write creates a record and Apart is true. The
	// store writes the content before the record, so that every record has its content. If the store refuses
	// the record, the content may remain.
	Content []byte
}

// Query selects records for a listing. A field with its zero value does not restrict the selection.
type Query struct {
	State    string
	Workflow string
	Before   time.Time // upper bound of the creation time, exclusive
	After    time.Time // lower bound of the creation time, inclusive
	Limit    int       // largest number of records in a page, 1 to 1000
	// InFlight applies to the state Error. If InFlight is true, the listing includes the orders in Error with
	// a step in flight or an unreported end. Otherwise an adapter may omit these orders, because the
	// search for them can require a read of every open order.
	InFlight bool
	// Damaged selects only the records in DamagedBucket.
	Damaged bool
	// Oldest selects only the oldest record. Limit then counts as 1, and Page.Next is "". If an adapter
	// cannot sort ended orders by age, it returns an error for a query that includes ended orders.
	Oldest bool
	// Partial accepts a page of some of the records, if there are too many to sort them by age. Otherwise an adapter
	// returns an error for so many records.
	Partial bool
	Cursor  string // cursor from the previous page; "" for the first page
}

// Selects reports whether the record matches Damaged, State, Workflow, Before and After.
func (q *Query) Selects(r *Record) bool {
	return (!q.Damaged || r.Bucket == DamagedBucket) && (q.State == "" || q.State == r.State) && (q.Workflow == "" || q.Workflow == r.Workflow) &&
		(q.Before.IsZero() || r.Created.Before(q.Before)) &&
		(q.After.IsZero() || !r.Created.Before(q.After))
}

// Page is one page of a listing. The newest record is the first. Next is the cursor of the next page, or ""
// on the last page.
type Page struct {
	Records []Record
	Next    string
	Partial bool // records are missing on all pages, because there are too many; only with Query.Partial
}

// Due is one entry of the index. The index is a hint: entries may be missing, outdated or unnecessary.
type Due struct {
	ID string
	At time.Time
}

// Store is the state store. Loads are strongly consistent. The results of Due and List may be outdated.
type Store interface {
	// Commit executes each write independently of the other writes. It keeps no reference to the bytes of the
	// writes. Each error has the index of its write:
	//
	//   - nil: the write is stored.
	//   - ErrExists: the record to create exists already, or has expired.
	//   - ErrNotFound: the record to replace does not exist.
	//   - ErrConflict, ErrTooLarge or ErrUnavailable: see their comments.
	//   - Any other error, such as a context error: the write may be stored.
	//
	// After a lost response from the database, Commit can look for the write. If Commit finds the write
	// stored, the error is nil.
	Commit(ctx context.Context, writes []Write) []error
	// Place moves the record to another place in the index, and changes nothing else. The stored version must
	// be the given version. Place returns ErrNotFound, ErrConflict or ErrUnavailable as Commit does. It is for
	// a document that cannot be read, so that no Commit can replace it (P60, a damaged order is set aside).
	Place(ctx context.Context, id string, version int64, bucket Bucket, at time.Time) error
	// Load returns a record and an error for each ID, at the index of the ID. The record is nil if it does
	// not exist or could not be read. A failed read of one record does not affect the other records.
	Load(ctx context.Context, ids []string) ([]*Record, []error)
	// Content returns the order's content in the item or row with this hash, or ErrNotFound.
	Content(ctx context.Context, id, hash string) ([]byte, error)
	// Erase removes the order's content in the item or row with this hash (P52, erase removes content, not
	// identity). It returns nil if the content does not exist. The caller must not need the content again. A
	// later write that creates the order again fails, and does not store the content again.
	Erase(ctx context.Context, id, hash string) error
	// Ended reports whether an order with this ID came to rest and its record has expired (P26). Call Ended
	// only after Load has returned no record. Ended may also return true while the record still exists.
	Ended(ctx context.Context, id string) (bool, error)
	// Due returns at most limit entries of one bucket and one shard, sorted by time. No entry is later than
	// the parameter before. If the parameter after is not nil, every result follows this entry.
	Due(ctx context.Context, bucket Bucket, shard int, before time.Time, after *Due, limit int) ([]Due, error)
	// Shards returns the number of shards of the index. The number does not change while the process runs.
	Shards() int
	// List returns a page of the selected records. If the adapter does not support the query, List returns an
	// error with the reason.
	List(ctx context.Context, q Query) (Page, error)
}

// Definitions keeps compiled workflows by hash.
type Definitions interface {
	// Definition returns the stored form of a definition, or ErrNotFound.
	Definition(ctx context.Context, hash string) ([]byte, error)
	// PutDefinition stores a definition if no definition with this hash is stored. It may replace a stored one
	// whose bytes were changed. It returns ErrHash if hash is not core.DefinitionHash(data).
	PutDefinition(ctx context.Context, hash string, data []byte) error
}

// Leases prevent two Supervisors from doing the same work. Leases only reduce the cost: results are correct
// without leases.
type Leases interface {
	// Acquire takes the lease for the owner, or renews the owner's lease, until now + ttl. It returns false
	// if another owner holds the lease.
	Acquire(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error)
}

// MaxLeaseSkew is the largest difference between the clocks of two Supervisors. A lease that ends later than
// now + ttl + MaxLeaseSkew is free, because a clock that was ahead once must not stop the sweeps.
const MaxLeaseSkew = 10 * time.Minute

// SweepLease returns the name of the lease for the sweeps of a shard.
func SweepLease(shard int) string { return "sweep/" + strconv.Itoa(shard) }

// LedgerEntry is the state of one key in the ledger of an agent of a plain service (P31, a plain service
// needs a ledger).
type LedgerEntry struct {
	Key     string
	State   string // one of the states in package functions/agent/worker
	Attempt int    // attempt that wrote the state
	Command int    // number of the last command with a fact that changed the entry
	Output  []byte // output of a completed attempt
	Code    string // code of a failure
	Message string
	Version int64 // 0 if the entry does not exist
}

// Ledger is a small table of entries by key. Agents of plain services use it, and so does package incident.
type Ledger interface {
	// Entry returns the entry of a key. The read is strongly consistent. If the key has no entry, the Version
	// of the result is 0.
	Entry(ctx context.Context, key string) (LedgerEntry, error)
	// Move stores e with the version e.Version + 1. If the stored version is not e.Version, Move returns
	// ErrConflict.
	Move(ctx context.Context, e LedgerEntry) error
}

// Clock returns the present time. Every actor uses a Clock, because tests and the simulator set the time.
type Clock interface{ Now() time.Time }

// Timer is a Clock that also calls functions at given times. Queues that wait for a time need it.
type Timer interface {
	Clock
	// At calls run when the clock reaches the time at. The result stop cancels the call of run.
	At(at time.Time, run func()) (stop func())
}

// Recent reports whether a time is less than span before now. A later time is not recent, because it is of a clock
// that was ahead.
func Recent(at, now time.Time, span time.Duration) bool {
	age := now.Sub(at)
	return 0 <= age && age < span
}

// ClockFunc implements Clock with a function.
type ClockFunc func() time.Time

// Now calls the function. The result has no monotonic reading, because the monotonic clock stands still while Lambda
// has frozen a process (rule 34 of docs/reference/aws-rules.md) or a machine sleeps. So a time that was read before is
// as old as it is for everybody else.
func (f ClockFunc) Now() time.Time { return f().Round(0) }

// At calls run in a goroutine of its own when the duration until at has passed.
func (f ClockFunc) At(at time.Time, run func()) (stop func()) {
	t := time.AfterFunc(at.Sub(f()), func() {
		_ = Guard(nil, "an alarm", func() error { run(); return nil })
	})
	return func() { t.Stop() }
}

// Sleep waits for d in real time. If the context ends first, Sleep returns the context's error at once.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
