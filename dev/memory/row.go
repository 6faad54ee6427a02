package memory

import (
	"bytes"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// row holds the data of one ID. Code never changes a record or a content in place, so a copy of a row keeps its
// content.
type row struct {
	record  *port.Record // nil if no record was stored, or if the record has expired
	hash    string
	content []byte // content of the order, if the record does not contain it
	ended   bool   // true if the record has expired; the ID stays known (P26, an ID never runs twice)
	seq     int64  // order of creation, for rows that were created in the same millisecond
}

// known reports whether a record was ever stored under the ID.
func (r row) known() bool { return r.record != nil || r.ended }

// write executes one conditional write (P8, every commit is conditional). An update does not change Workflow
// and Created.
func (r *row) write(w *port.Write) error {
	if err := port.CheckWrite(w); err != nil {
		return err
	}
	id := w.Record.ID
	switch {
	case w.Expected == 0 && r.known():
		return fmt.Errorf("task %q: %w", id, port.ErrExists)
	case w.Expected > 0 && r.record == nil:
		return fmt.Errorf("task %q: %w", id, port.ErrNotFound)
	case w.Expected > 0 && r.record.Version != w.Expected:
		return fmt.Errorf("task %q has version %d, expected was %d: %w", id, r.record.Version, w.Expected,
			port.ErrConflict)
	}
	next := copyRecord(&w.Record)
	next.Hash = ""
	if w.Expected == 0 {
		r.hash = w.Hash
		r.content = bytes.Clone(w.Content)
	} else {
		next.Workflow = r.record.Workflow
		next.Created = r.record.Created
	}
	r.record = next
	return nil
}

// place moves the record to another place in the index. The stored version must be the given version.
func (r *row) place(id string, version int64, bucket port.Bucket, at time.Time) error {
	switch {
	case r.record == nil:
		return fmt.Errorf("task %q: %w", id, port.ErrNotFound)
	case r.record.Version != version:
		return fmt.Errorf("task %q has version %d, expected was %d: %w", id, r.record.Version, version,
			port.ErrConflict)
	}
	next := *r.record
	next.Bucket = bucket
	next.IndexAt = at
	r.record = copyRecord(&next)
	return nil
}

// load returns a copy of the record, or nil if there is no record.
func (r row) load() *port.Record {
	if r.record == nil {
		return nil
	}
	c := copyRecord(r.record)
	c.Hash = r.hash
	return c
}
