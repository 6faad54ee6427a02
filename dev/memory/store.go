package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Store implements port.Store in memory, for tests. List and Due visit all records. A Store is safe for
// concurrent use.
type Store struct {
	exclusive
	shards int
	rows   map[string]row
	seq    int64
}

// row holds the data of one ID. Code never changes a record or a content in place, so a copy of a row keeps its
// content.
type row struct {
	record  *port.Record // nil if no record was stored, or if the record has expired
	content []byte       // content of the order, if the record does not contain it
	ended   bool         // true if the record has expired; the ID stays known (P26, an ID never runs twice)
	seq     int64        // order of creation, for rows that were created in the same millisecond
}

// NewStore returns an empty store. Its due index has the given number of shards, at least 1.
func NewStore(shards int) *Store {
	return &Store{shards: max(shards, 1), rows: map[string]row{}}
}

func newestFirst(a, b row) int {
	return cmp.Or(b.record.Created.Compare(a.record.Created), cmp.Compare(b.seq, a.seq))
}

// Shards returns the number of shards of the due index.
func (s *Store) Shards() int { return s.shards }

// Commit executes the writes in sequence. Each write has its own condition (P8, every commit is conditional).
func (s *Store) Commit(ctx context.Context, writes []port.Write) []error {
	errs := make([]error, len(writes))
	for i := range writes {
		errs[i] = s.do(ctx, func() error { return s.commit(&writes[i]) })
	}
	return errs
}

// commit executes one conditional write. An update does not change Workflow, Created and Hash.
func (s *Store) commit(w *port.Write) error {
	if err := port.CheckWrite(w); err != nil {
		return err
	}
	id := w.Record.ID
	next := copyRecord(&w.Record)
	if w.Expected > 0 {
		stored, err := s.at(id, w.Expected)
		if err != nil {
			return err
		}
		next.Workflow = stored.record.Workflow
		next.Created = stored.record.Created
		next.Hash = stored.record.Hash
		stored.record = next
		s.rows[id] = stored
		return nil
	}
	if _, known := s.rows[id]; known {
		return fmt.Errorf("task %q: %w", id, port.ErrExists)
	}
	next.Hash = w.Hash
	s.seq++
	s.rows[id] = row{record: next, content: bytes.Clone(w.Content), seq: s.seq}
	return nil
}

// at returns the row of a task that has the given version.
func (s *Store) at(id string, version int64) (row, error) {
	r := s.rows[id]
	switch {
	case r.record == nil:
		return r, fmt.Errorf("task %q: %w", id, port.ErrNotFound)
	case r.record.Version != version:
		return r, fmt.Errorf("task %q has version %d, expected was %d: %w", id, r.record.Version, version,
			port.ErrConflict)
	}
	return r, nil
}

// Place moves the record to another place in the due index.
func (s *Store) Place(ctx context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	return s.do(ctx, func() error {
		r, err := s.at(id, version)
		if err != nil {
			return err
		}
		next := *r.record
		next.Bucket = bucket
		next.IndexAt = at
		r.record = copyRecord(&next)
		s.rows[id] = r
		return nil
	})
}

// Forget removes records and keeps their IDs, as if the records had expired (P26, an ID never runs twice).
// It ignores unknown IDs.
func (s *Store) Forget(ctx context.Context, ids []string) error {
	return s.do(ctx, func() error {
		for _, id := range ids {
			if _, known := s.rows[id]; known {
				s.rows[id] = row{ended: true}
			}
		}
		return nil
	})
}

// Load returns a copy of each record. The record is nil for an unknown ID. If ctx has ended, each error is
// the error of ctx. Otherwise all errors are nil.
func (s *Store) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	records := make([]*port.Record, len(ids))
	err := s.do(ctx, func() error {
		for i, id := range ids {
			if r := s.rows[id]; r.record != nil {
				records[i] = copyRecord(r.record)
			}
		}
		return nil
	})
	return records, slices.Repeat([]error{err}, len(ids))
}

// Content returns a copy of the content that is stored outside the record.
func (s *Store) Content(ctx context.Context, id, hash string) (content []byte, err error) {
	err = s.do(ctx, func() error {
		r := s.rows[id]
		if r.record == nil || r.content == nil || r.record.Hash != hash {
			return fmt.Errorf("content of order %q: %w", id, port.ErrNotFound)
		}
		content = bytes.Clone(r.content)
		return nil
	})
	return content, err
}

// Erase removes the content that is stored outside the record.
func (s *Store) Erase(ctx context.Context, id, hash string) error {
	return s.do(ctx, func() error {
		if r := s.rows[id]; r.record != nil && r.record.Hash == hash {
			r.content = nil
			s.rows[id] = r
		}
		return nil
	})
}

// Ended reports whether the record of the ID has expired.
func (s *Store) Ended(ctx context.Context, id string) (ended bool, err error) {
	err = s.do(ctx, func() error {
		ended = s.rows[id].ended
		return nil
	})
	return ended, err
}

// Due returns the due entries of one shard, earliest first. The entries are never stale.
func (s *Store) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int,
) (found []port.Due, err error) {
	err = s.do(ctx, func() error {
		for id, r := range s.rows {
			if r.record == nil || r.record.Bucket != bucket || r.record.IndexAt.After(before) ||
				port.ShardOf(id, s.shards) != shard {
				continue
			}
			if d := (port.Due{ID: id, At: r.record.IndexAt}); after == nil || EarliestFirst(d, *after) > 0 {
				found = append(found, d)
			}
		}
		return nil
	})
	slices.SortFunc(found, EarliestFirst)
	return found[:max(0, min(limit, len(found)))], err
}

// EarliestFirst compares two index entries by time and then by ID.
func EarliestFirst(a, b port.Due) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}

// List returns a page of the selected records. It supports every combination of conditions.
func (s *Store) List(ctx context.Context, q port.Query) (page port.Page, err error) {
	start, err := port.CheckQuery(&q)
	if err != nil {
		return page, err
	}
	var rows []row
	err = s.do(ctx, func() error {
		for _, r := range s.rows {
			if r.record == nil || !q.Selects(r.record) {
				continue
			}
			created := r.record.Created.UnixMilli()
			if q.Cursor == "" || cmp.Or(cmp.Compare(created, start.Created), cmp.Compare(r.seq, start.Number)) < 0 {
				rows = append(rows, r)
			}
		}
		return nil
	})
	slices.SortFunc(rows, newestFirst)
	if q.Oldest {
		rows = rows[max(len(rows)-1, 0):]
		q.Limit = 1
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		last := rows[q.Limit-1]
		page.Next = port.Position{Created: last.record.Created.UnixMilli(), Number: last.seq}.Cursor()
	}
	for _, r := range rows {
		page.Records = append(page.Records, *copyRecord(r.record))
	}
	return page, err
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
