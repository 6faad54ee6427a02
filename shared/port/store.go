package port

import (
	"context"
	"strconv"
	"time"
)

// MaxDocument is the largest document of a task that a Store accepts, in bytes: DynamoDB's item limit of 400
// KB less room for the index attributes. It includes a reserve for all that the order may still have to
// store. An output that does not fit fails its step (`output-too-large`) while the order goes forward. A
// stopped or undoing order drops the output. Error texts shrink to their codes if they take too much space.
// Stepkeeper refuses a workflow whose reserve alone is larger (some 500 steps).
const MaxDocument = 380 << 10

// MaxOrder is the largest order, in bytes: one chunk of SQS's bill. The Scheduler refuses it. The quarantine
// keeps its hash and its first 40,000 bytes.
const MaxOrder = 64 << 10

// Bucket is a part of the index.
type Bucket string

// Buckets of a task.
const (
	NoBucket Bucket = "" // the task is at rest
	// The Supervisor processes a task in DueBucket when it is due (P9, tasks not at rest are due).
	DueBucket       Bucket = "due"
	AttentionBucket Bucket = "attention" // the task is in Error, and the operator was notified
)

// Record is a stored task. The Store does not interpret Document.
type Record struct {
	ID       string
	Version  int64 // 1 for a new record
	State    string
	Workflow string
	Created  time.Time
	Bucket   Bucket
	IndexAt  time.Time // sort key in the bucket; whole milliseconds
	Document []byte    // JSON; a Store may write the members of an object in another order
}

// Write is one conditional write. Expected 0 creates a record: no order of this ID may ever have been stored
// (P14, submit creates once; P26, an ID never runs twice). Otherwise Record replaces the stored one of
// version Expected, and Record.Version must be Expected + 1 (P8, every commit is conditional).
type Write struct {
	Record   Record
	Expected int64
	// Hash is the hash of the order's content, which stays after the order has expired. Each create sets it,
	// and each write of content that is stored apart. A store that puts a tombstone needs it again when the
	// order comes to rest. It is empty after a Cancel that came before its order (P17, a cancel is kept).
	Hash string
	// Apart reports whether the content is stored apart from the document, under its hash.
	Apart bool
	// Content is the content that a create stores apart. The store writes it before the record, so that no
	// record is without its content. If the create is refused, the content may stay behind without a
	// reference.
	Content []byte
}

// Query selects records for people. A zero field does not restrict them.
type Query struct {
	State    string
	Workflow string
	Before   time.Time // created before
	After    time.Time // created at or after
	Limit    int       // 1 to 1000
	// InFlight includes, with the state Error, orders that still have a step in flight or an end to report.
	// Without it an adapter may omit them, because it would have to read every open order.
	InFlight bool
	// Oldest selects only the oldest of the records. Limit counts as 1, and Next is "". An adapter without an
	// index of ended orders by age refuses Oldest if the query selects ended orders.
	Oldest bool
	Cursor string // cursor from the previous page; "" for the first page
}

// Selects reports whether State, Workflow, Before and After select the record.
func (q *Query) Selects(r *Record) bool {
	return (q.State == "" || q.State == r.State) && (q.Workflow == "" || q.Workflow == r.Workflow) &&
		(q.Before.IsZero() || r.Created.Before(q.Before)) &&
		(q.After.IsZero() || !r.Created.Before(q.After))
}

// Page is one page of a listing, newest first. Next is "" at the end.
type Page struct {
	Records []Record
	Next    string
}

// Due is one entry of an index. It is a hint: entries may be missing, outdated or superfluous.
type Due struct {
	ID string
	At time.Time
}

// Store is the state store. All loads are strongly consistent. Listings and Due need not be.
type Store interface {
	// Commit carries out the writes, each on its own: some can succeed while others fail. It keeps no
	// reference to their bytes. The errors stand at the indexes of their writes; nil means stored:
	//
	//   - ErrExists: a create found a record, or one that has expired.
	//   - ErrNotFound: a replace found no record.
	//   - ErrConflict, ErrTooLarge, ErrUnavailable.
	//   - Any other error, a context error too, means "perhaps stored".
	//
	// Commit never returns an error for a write that is known to be stored. A write that is found stored
	// after a lost answer counts as stored.
	Commit(ctx context.Context, writes []Write) []error
	// Load returns the records in the order of their IDs, with nil for an ID without a record, and the errors
	// of failed reads. A failed read does not affect the others.
	Load(ctx context.Context, ids []string) ([]*Record, []error)
	// Content returns the content of an order that is stored apart under this hash, or ErrNotFound.
	Content(ctx context.Context, id, hash string) ([]byte, error)
	// Erase removes the content that is stored apart under this hash, if there is any. The stored record of
	// the order never needs it again (P52, erase removes content, not identity). A later create that is
	// refused does not bring the content back.
	Erase(ctx context.Context, id, hash string) error
	// Ended reports whether an order of this ID came to rest and its record has expired (P26). It may also
	// report true for an order whose record still exists, so callers ask only if Load returns no record.
	Ended(ctx context.Context, id string) (bool, error)
	// Due returns a bucket's entries of one shard, earliest first: those at or before the given time, at most
	// limit, and after the entry `after` if it is set.
	Due(ctx context.Context, bucket Bucket, shard int, before time.Time, after *Due, limit int) ([]Due, error)
	// Shards returns the number of shards of the index. It does not change while the process runs.
	Shards() int
	// List returns the selected records, newest first. An adapter that cannot serve a query returns an error
	// that states so.
	List(ctx context.Context, q Query) (Page, error)
}

// Definitions keeps compiled workflows by hash.
type Definitions interface {
	// Definition returns the stored form of a definition, or ErrNotFound.
	Definition(ctx context.Context, hash string) ([]byte, error)
	// PutDefinition stores the definition if it is absent. It returns ErrHash if core.DefinitionHash of the
	// bytes is another hash.
	PutDefinition(ctx context.Context, hash string, data []byte) error
}

// Leases prevent two Supervisors from doing the same work twice. Only the cost depends on them.
type Leases interface {
	// Acquire takes the lease, or renews the owner's, until now + ttl. It returns false if another owner
	// holds the lease.
	Acquire(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error)
}

// SweepLease returns the name of the lease of a Supervisor that sweeps a shard.
func SweepLease(shard int) string { return "sweep/" + strconv.Itoa(shard) }

// LedgerEntry is the state of one key in the ledger of an agent of a plain service (P31, a plain service
// needs a ledger).
type LedgerEntry struct {
	Key     string
	State   string // see functions/agent/worker
	Attempt int    // attempt that wrote the state
	Command int    // number of the command whose fact was applied last
	Output  []byte // output of a completed attempt
	Code    string // code of a failure
	Message string
	Version int64 // 0 if the entry does not exist
}

// Ledger is the agent's own small table.
type Ledger interface {
	// Entry returns the entry, strongly consistent. Its Version is 0 if it does not exist.
	Entry(ctx context.Context, key string) (LedgerEntry, error)
	// Move stores the entry if the stored version is e.Version, and raises it by one. Otherwise it returns
	// ErrConflict.
	Move(ctx context.Context, e LedgerEntry) error
}

// Clock returns the present time. Every actor has one, so that tests and the simulator can move it.
type Clock interface{ Now() time.Time }

// ClockFunc is a function as a Clock.
type ClockFunc func() time.Time

// Now calls the function.
func (f ClockFunc) Now() time.Time { return f() }

// CallAt calls run when the clock shows at. A clock with a method At, such as a clock that tests move, makes
// the call itself. Otherwise a real timer makes it. stop cancels the call.
func CallAt(clock Clock, at time.Time, run func()) (stop func()) {
	if w, ok := clock.(interface {
		At(at time.Time, run func()) (stop func())
	}); ok {
		return w.At(at, run)
	}
	t := time.AfterFunc(at.Sub(clock.Now()), func() {
		_ = Guard(nil, "an alarm", func() error { run(); return nil })
	})
	return func() { t.Stop() }
}

// Sleep waits for d of real time. It ends early, with an error, when the context ends.
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
