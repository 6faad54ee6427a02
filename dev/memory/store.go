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

// Store is a port.Store in memory, for tests: it looks at all records where it lists some. Workflow and
// Created of a record are those of its create. Safe for concurrent use.
type Store struct {
	shards int

	mu   sync.RWMutex
	rows map[string]*row
	seq  int64
}

type row struct {
	record  port.Record
	hash    string
	content []byte // content kept apart
	seq     int64  // distinguishes rows created in the same millisecond
	expired bool   // only the ID is left (P26)
}

// NewStore gives an empty store whose due index has that many shards, at least 1.
func NewStore(shards int) *Store {
	return &Store{shards: max(shards, 1), rows: map[string]*row{}}
}

func newestFirst(a, b *row) int {
	return cmp.Or(b.record.Created.Compare(a.record.Created), cmp.Compare(b.seq, a.seq))
}

func earliestFirst(a, b port.Due) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}

// Shards is how many shards the due index has.
func (s *Store) Shards() int { return s.shards }

// Commit carries out the writes in their order, each on its own (P8).
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
	if err := port.CheckWrite(w); err != nil {
		return err
	}
	if w.Expected == 0 {
		return s.create(w)
	}
	stored, there := s.rows[w.Record.ID]
	if !there || stored.expired {
		return fmt.Errorf("task %q: %w", w.Record.ID, port.ErrNotFound)
	}
	if stored.record.Version != w.Expected {
		return fmt.Errorf("task %q has version %d, expected was %d: %w", w.Record.ID, stored.record.Version,
			w.Expected, port.ErrConflict)
	}
	next := copyRecord(&w.Record)
	next.Workflow, next.Created = stored.record.Workflow, stored.record.Created
	stored.record = *next
	return nil
}

func (s *Store) create(w *port.Write) error {
	id := w.Record.ID
	if _, there := s.rows[id]; there {
		return fmt.Errorf("task %q: %w", id, port.ErrExists)
	}
	s.seq++
	s.rows[id] = &row{record: *copyRecord(&w.Record), hash: w.Hash, content: bytes.Clone(w.Content),
		seq: s.seq}
	return nil
}

// Forget removes records and keeps their IDs, as a retention does (P26). Unknown IDs are no error.
func (s *Store) Forget(ctx context.Context, ids []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if r, there := s.rows[id]; there {
			*r = row{expired: true}
		}
	}
	return nil
}

// Load returns copies of the records; nil if there is none. It fails for all of them, or none.
func (s *Store) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	records := make([]*port.Record, len(ids))
	if err := ctx.Err(); err != nil {
		return records, slices.Repeat([]error{err}, len(ids))
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, id := range ids {
		if r, there := s.rows[id]; there && !r.expired {
			records[i] = copyRecord(&r.record)
		}
	}
	return records, make([]error, len(ids))
}

// Content returns a copy of the content that the order keeps apart.
func (s *Store) Content(ctx context.Context, id, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r, there := s.rows[id]; there && r.content != nil && r.hash == hash {
		return bytes.Clone(r.content), nil
	}
	return nil, fmt.Errorf("content of order %q: %w", id, port.ErrNotFound)
}

// Erase removes the content that the order keeps apart.
func (s *Store) Erase(ctx context.Context, id, hash string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, there := s.rows[id]; there && r.hash == hash {
		r.content = nil
	}
	return nil
}

// Ended reports whether the record of this ID has expired.
func (s *Store) Ended(ctx context.Context, id string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, there := s.rows[id]
	return there && r.expired, nil
}

// Due lists entries of one shard, earliest first; never stale here.
func (s *Store) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int) ([]port.Due, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []port.Due
	for id, r := range s.rows {
		if r.expired || r.record.Bucket != bucket || port.ShardOf(id, s.shards) != shard ||
			r.record.IndexAt.After(before) {
			continue
		}
		if d := (port.Due{ID: id, At: r.record.IndexAt}); after == nil || earliestFirst(d, *after) > 0 {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, earliestFirst)
	return found[:max(0, min(limit, len(found)))], nil
}

// List answers every query, by looking at every record where it must.
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
		if start, err = parseCursor(q.Cursor); err != nil {
			return page, err
		}
	}
	var rows []*row
	for _, r := range s.rows {
		if !r.expired && (start == nil || newestFirst(start, r) < 0) && selects(&q, &r.record) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, newestFirst)
	if q.Oldest {
		rows, q.Limit = rows[max(len(rows)-1, 0):], 1
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		page.Next = cursor(rows[q.Limit-1])
	}
	for _, r := range rows {
		page.Records = append(page.Records, *copyRecord(&r.record))
	}
	return page, nil
}

func selects(q *port.Query, r *port.Record) bool {
	return (q.State == "" || q.State == r.State) &&
		(q.Workflow == "" || q.Workflow == r.Workflow) &&
		(q.Before.IsZero() || r.Created.Before(q.Before)) &&
		(q.After.IsZero() || !r.Created.Before(q.After))
}

func cursor(r *row) string {
	return strconv.FormatInt(r.record.Created.UnixMilli(), 36) + "." + strconv.FormatInt(r.seq, 36)
}

func parseCursor(text string) (*row, error) {
	created, seq, _ := strings.Cut(text, ".")
	ms, err := strconv.ParseInt(created, 36, 64)
	if err == nil {
		var n int64
		if n, err = strconv.ParseInt(seq, 36, 64); err == nil {
			return &row{record: port.Record{Created: time.UnixMilli(ms).UTC()}, seq: n}, nil
		}
	}
	return nil, fmt.Errorf("%w: %.40q is not one of a page of this store; start again without a cursor",
		port.ErrCursor, text)
}

// copyRecord keeps the store's bytes and the caller's apart, and times to what every adapter keeps.
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
