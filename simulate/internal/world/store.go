package world

import (
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Version returns the version of the stored record, or 0 if there is none.
func (s *Store) Version(id string) int64 {
	if r := s.Rows[id]; r != nil && r.Record != nil {
		return r.Record.Version
	}
	return 0
}

// Store is the simulated state store: one shard, strongly consistent, with an index that may be stale.
type Store struct {
	W    *Simulation
	Rows map[string]*Row
	Ids  []string            // IDs in the order in which their rows were made
	Defs *memory.Definitions // no fault is injected here, because a retry would repair each at once
	Bare bool                // documents are not decoded: the conformance suite stores no tasks
}

// Row is the store's content for one order.
type Row struct {
	memory.Row
	Task   *core.Task  // task of the record
	WasDue []time.Time // earlier places in the index
}

// Known reports whether an order of this ID was ever stored.
func (r *Row) Known() bool { return r != nil && r.Row.Known() }

// Order returns the order as submitted, empty after an early Cancel or once the record has expired.
func (r *Row) Order() []byte {
	switch {
	case r.Task == nil:
		return nil
	case r.Task.Apart():
		return r.Content
	}
	return r.Task.Order
}

// Expire removes all but the order's ID.
func (r *Row) Expire() { *r = Row{Row: memory.Row{Ended: r.Known()}} }

// Row returns the row of an ID, and adds it if it does not exist.
func (s *Store) Row(id string) *Row {
	r := s.Rows[id]
	if r == nil {
		r = &Row{}
		s.Rows[id] = r
		s.Ids = append(s.Ids, id)
	}
	return r
}

// Task returns the stored task, or nil if there is none.
func (s *Store) Task(id string) *core.Task {
	if r := s.Rows[id]; r != nil {
		return r.Task
	}
	return nil
}

// Ledger is the table of one agent (P31, a plain service needs a ledger); all its instances share it.
type Ledger struct{ Entries map[string]port.LedgerEntry }
