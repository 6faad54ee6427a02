package world

import (
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Store is the simulated state store. It is strongly consistent, but its index may be stale.
type Store struct {
	W    *Simulation
	Rows map[string]*Row
	Ids  []string            // IDs in the order in which their rows were added
	Defs *memory.Definitions // stored definitions, which can be read without faults
	Bare bool                // true if documents are not decoded, as in the conformance tests
}

// Row is the content of the store for one order.
type Row struct {
	memory.Row
	Task   *protocol.Task // decoded task of the record
	WasDue []time.Time    // earlier due times in the index
}

// Known reports whether an order with this ID was ever stored.
func (r *Row) Known() bool { return r != nil && r.Row.Known() }

// Order returns the content of the order. It returns nil if the order was cancelled before its submission,
// has expired or was erased.
func (r *Row) Order() []byte {
	switch {
	case r.Task == nil:
		return nil
	case r.Task.Apart():
		return r.Content
	}
	return r.Task.Order
}

// Expire removes everything except the order's ID.
func (r *Row) Expire() { *r = Row{Row: memory.Row{Ended: r.Known()}} }

// Row returns the row of an ID. It adds an empty row if the row does not exist.
func (s *Store) Row(id string) *Row {
	r := s.Rows[id]
	if r == nil {
		r = &Row{}
		s.Rows[id] = r
		s.Ids = append(s.Ids, id)
	}
	return r
}

// Task returns the stored task, or nil if the task does not exist.
func (s *Store) Task(id string) *protocol.Task {
	if r := s.Rows[id]; r != nil {
		return r.Task
	}
	return nil
}
