package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Store implements port.Store in memory, for tests. List and Due visit all records. A Store is safe for
// concurrent use.
type Store struct {
	shards int

	mu   sync.RWMutex
	rows map[string]*row
	seq  int64
}

// NewStore returns an empty store. Its due index has the given number of shards, at least 1.
func NewStore(shards int) *Store {
	return &Store{shards: max(shards, 1), rows: map[string]*row{}}
}

func newestFirst(a, b *row) int {
	return cmp.Or(b.record.Created.Compare(a.record.Created), cmp.Compare(b.seq, a.seq))
}

// Shards returns the number of shards of the due index.
func (s *Store) Shards() int { return s.shards }

// Commit executes the writes in sequence. Each write has its own condition (P8, every commit is conditional).
func (s *Store) Commit(ctx context.Context, writes []port.Write) []error {
	errs := make([]error, len(writes))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range writes {
		if err := ctx.Err(); err != nil {
			errs[i] = err
			continue
		}
		errs[i] = s.commit(&writes[i])
	}
	return errs
}

func (s *Store) commit(w *port.Write) error {
	var next row
	if stored := s.rows[w.Record.ID]; stored != nil {
		next = *stored
	} else {
		s.seq++
		next.seq = s.seq
	}
	if err := next.write(w); err != nil {
		return err
	}
	s.rows[w.Record.ID] = &next
	return nil
}

// Place moves the record to another place in the due index.
func (s *Store) Place(ctx context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var next row
	if stored := s.rows[id]; stored != nil {
		next = *stored
	}
	if err := next.place(id, version, bucket, at); err != nil {
		return err
	}
	s.rows[id] = &next
	return nil
}

// Forget removes records and keeps their IDs, as if the records had expired (P26, an ID never runs twice).
// It ignores unknown IDs.
func (s *Store) Forget(ctx context.Context, ids []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if r := s.rows[id]; r != nil {
			*r = row{ended: r.known()}
		}
	}
	return nil
}

// Load returns a copy of each record. The record is nil for an unknown ID. If ctx has ended, each error is
// the error of ctx. Otherwise all errors are nil.
func (s *Store) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	records := make([]*port.Record, len(ids))
	if err := ctx.Err(); err != nil {
		return records, slices.Repeat([]error{err}, len(ids))
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, id := range ids {
		if r := s.rows[id]; r != nil {
			records[i] = r.load()
		}
	}
	return records, make([]error, len(ids))
}

// Content returns a copy of the content that is stored outside the record.
func (s *Store) Content(ctx context.Context, id, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.rows[id]; r != nil && r.content != nil && r.hash == hash {
		return bytes.Clone(r.content), nil
	}
	return nil, fmt.Errorf("content of order %q: %w", id, port.ErrNotFound)
}

// Erase removes the content that is stored outside the record.
func (s *Store) Erase(ctx context.Context, id, hash string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[id]; r != nil && r.hash == hash {
		r.content = nil
	}
	return nil
}

// Ended reports whether the record of the ID has expired.
func (s *Store) Ended(ctx context.Context, id string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.rows[id]
	return r != nil && r.ended, nil
}

// Due returns the due entries of one shard, earliest first. The entries are never stale.
func (s *Store) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int,
) ([]port.Due, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []port.Due
	for id, r := range s.rows {
		if r.record == nil || r.record.Bucket != bucket || r.record.IndexAt.After(before) ||
			port.ShardOf(id, s.shards) != shard {
			continue
		}
		if d := (port.Due{ID: id, At: r.record.IndexAt}); after == nil || EarliestFirst(d, *after) > 0 {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, EarliestFirst)
	return found[:max(0, min(limit, len(found)))], nil
}

// EarliestFirst compares two index entries by time and then by ID.
func EarliestFirst(a, b port.Due) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}

// List returns a page of the selected records. It supports every combination of conditions.
func (s *Store) List(ctx context.Context, q port.Query) (port.Page, error) {
	var page port.Page
	if err := ctx.Err(); err != nil {
		return page, err
	}
	if q.Limit < 1 || q.Limit > 1000 {
		return page, fmt.Errorf("listing with limit %d: give 1 to 1000", q.Limit)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var start *row
	if q.Cursor != "" {
		var err error
		start, err = parseCursor(q.Cursor)
		if err != nil {
			return page, err
		}
	}
	var rows []*row
	for _, r := range s.rows {
		if r.record != nil && (start == nil || newestFirst(start, r) < 0) && q.Selects(r.record) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, newestFirst)
	if q.Oldest {
		rows = rows[max(len(rows)-1, 0):]
		q.Limit = 1
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		page.Next = cursor(rows[q.Limit-1])
	}
	for _, r := range rows {
		page.Records = append(page.Records, *r.load())
	}
	return page, nil
}

func cursor(r *row) string {
	return strconv.FormatInt(r.record.Created.UnixMilli(), 36) + "." + strconv.FormatInt(r.seq, 36)
}

func parseCursor(text string) (*row, error) {
	created, seq, _ := strings.Cut(text, ".")
	ms, err := strconv.ParseInt(created, 36, 64)
	if err == nil {
		var n int64
		n, err = strconv.ParseInt(seq, 36, 64)
		if err == nil {
			return &row{record: &port.Record{Created: time.UnixMilli(ms).UTC()}, seq: n}, nil
		}
	}
	return nil, fmt.Errorf("%w: %.40q is not one of a page of this store; start again without a cursor",
		port.ErrCursor, text)
}

// copyRecord copies the record and its document. It cuts times to milliseconds, as every store does.
func copyRecord(r *port.Record) *port.Record {
	c := *r
	c.Document = bytes.Clone(r.Document)
	c.Created = cut(r.Created)
	c.IndexAt = cut(r.IndexAt)
	if c.Bucket == port.NoBucket {
		c.IndexAt = time.Time{}
	}
	return &c
}

func cut(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
