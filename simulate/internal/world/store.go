package world

import (
	"context"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Store is the simulated state store: the store in memory, with what the simulation remembers about it. It is
// strongly consistent, but its index may be stale.
type Store struct {
	*memory.Store       // made with the number of shards that the run has chosen
	*memory.Definitions // can be read without faults

	Rows []*Row // in the order in which they were first stored
	byID map[string]*Row
}

// Row is what the simulation remembers about a record.
type Row struct {
	ID     string
	Task   *protocol.Task // decoded task of the record; nil if the record has expired
	Due    time.Time      // due time in the index; zero if the task is not due
	WasDue []time.Time    // earlier due times in the index
}

func (r *Row) place(bucket port.Bucket, at time.Time) {
	r.Due = time.Time{}
	if bucket == port.DueBucket {
		r.Due = at
	}
}

// Known reports whether a record was ever stored under the ID.
func (s *Store) Known(id string) bool { return s.byID[id] != nil }

// Task returns the stored task, or nil if the task does not exist.
func (s *Store) Task(id string) *protocol.Task {
	if r := s.byID[id]; r != nil {
		return r.Task
	}
	return nil
}

// Holds reports whether the content of the task's order is stored apart from the task.
func (s *Store) Holds(t *protocol.Task) bool {
	_, err := s.Content(context.Background(), t.OrderID, t.ContentHash)
	return err == nil
}

// Committed remembers a record that was committed. It returns the task before that, or nil.
func (s *Store) Committed(record *port.Record, t *protocol.Task) (before *protocol.Task) {
	r := s.byID[t.OrderID]
	if r == nil {
		r = &Row{ID: t.OrderID}
		s.byID[r.ID] = r
		s.Rows = append(s.Rows, r)
	}
	if !r.Due.IsZero() {
		r.WasDue = append(r.WasDue[max(0, len(r.WasDue)-3):], r.Due)
	}
	r.place(record.Bucket, record.IndexAt)
	before = r.Task
	r.Task = t
	return before
}

// Place moves a record to another place in the index.
func (s *Store) Place(ctx context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	err := s.Store.Place(ctx, id, version, bucket, at)
	if err == nil {
		s.byID[id].place(bucket, at)
	}
	return err
}

// Expire removes everything of a record except its ID.
func (s *Store) Expire(r *Row) {
	_ = s.Forget(context.Background(), []string{r.ID}) // fails only if its context has ended
	*r = Row{ID: r.ID}
}
