package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Row holds the data that a store keeps for one ID. Code never changes a record or a content in place, so a
// copy of a Row keeps its content.
type Row struct {
	Record  *port.Record // nil if no record was stored, or if the record has expired
	Hash    string
	Content []byte // content of the order, if the record does not contain it
	Ended   bool   // true if the record has expired; the ID stays known (P26, an ID never runs twice)
}

// Known reports whether a record was ever stored under the ID.
func (r Row) Known() bool { return r.Record != nil || r.Ended }

// Write executes one conditional write (P8, every commit is conditional). An update does not change Workflow
// and Created.
func (r *Row) Write(w *port.Write) error {
	if err := port.CheckWrite(w); err != nil {
		return err
	}
	id := w.Record.ID
	switch {
	case w.Expected == 0 && r.Known():
		return fmt.Errorf("task %q: %w", id, port.ErrExists)
	case w.Expected > 0 && r.Record == nil:
		return fmt.Errorf("task %q: %w", id, port.ErrNotFound)
	case w.Expected > 0 && r.Record.Version != w.Expected:
		return fmt.Errorf("task %q has version %d, expected was %d: %w", id, r.Record.Version, w.Expected,
			port.ErrConflict)
	}
	next := copyRecord(&w.Record)
	next.Hash = ""
	if w.Expected == 0 {
		r.Hash = w.Hash
		r.Content = bytes.Clone(w.Content)
	} else {
		next.Workflow = r.Record.Workflow
		next.Created = r.Record.Created
	}
	r.Record = next
	return nil
}

// Place moves the record to another place in the index. The stored version must be the given version.
func (r *Row) Place(id string, version int64, bucket port.Bucket, at time.Time) error {
	switch {
	case r.Record == nil:
		return fmt.Errorf("task %q: %w", id, port.ErrNotFound)
	case r.Record.Version != version:
		return fmt.Errorf("task %q has version %d, expected was %d: %w", id, r.Record.Version, version,
			port.ErrConflict)
	}
	next := *r.Record
	next.Bucket = bucket
	next.IndexAt = at
	r.Record = copyRecord(&next)
	return nil
}

// Load returns a copy of the record, or nil if there is no record.
func (r Row) Load() *port.Record {
	if r.Record == nil {
		return nil
	}
	c := copyRecord(r.Record)
	c.Hash = r.Hash
	return c
}

// ContentOf returns a copy of the content that is stored outside the record, or port.ErrNotFound.
func (r Row) ContentOf(id, hash string) ([]byte, error) {
	if r.Content != nil && r.Hash == hash {
		return bytes.Clone(r.Content), nil
	}
	return nil, fmt.Errorf("content of order %q: %w", id, port.ErrNotFound)
}

// Erase removes the content that is stored outside the record, if the stored hash is equal to the argument.
func (r *Row) Erase(hash string) {
	if r.Hash == hash {
		r.Content = nil
	}
}

// Expire removes everything except the fact that the ID was used.
func (r *Row) Expire() { *r = Row{Ended: r.Known()} }

// Due returns at most limit entries of one index bucket, earliest first. Their due times are not later than
// the argument before. If the argument after is not nil, Due returns only entries that follow this entry.
func Due(records iter.Seq[*port.Record], bucket port.Bucket, before time.Time, after *port.Due,
	limit int,
) []port.Due {
	var found []port.Due
	for r := range records {
		if r == nil || r.Bucket != bucket || r.IndexAt.After(before) {
			continue
		}
		if d := (port.Due{ID: r.ID, At: r.IndexAt}); after == nil || EarliestFirst(d, *after) > 0 {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, EarliestFirst)
	return found[:max(0, min(limit, len(found)))]
}

// EarliestFirst compares two index entries by time and then by ID.
func EarliestFirst(a, b port.Due) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}
