package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
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
	_ = s.Forget(context.Background(), []string{r.ID}) // fails only if its context has handlerEnded
	*r = Row{ID: r.ID}
}

// write executes one conditional write (P8, every commit is conditional).
func write(w *Simulation, wr *port.Write) error {
	if err := w.Store.Commit(ctx, []port.Write{*wr})[0]; err != nil {
		return err
	}
	after, err := state.DecodeTask(wr.Record.Document)
	w.never(err != nil, "bug", "a document of %s that was written cannot be read: %v", wr.Record.ID, err)
	if err != nil {
		return err
	}
	before := w.Store.Committed(&wr.Record, after)
	committed(w, before, after, &wr.Record)
	planSweep(w)
	scripted(w, after)
	// The operator may have stopped before a late command resumes an order, so the operator starts again.
	if w.Quiescing && !w.Operating {
		w.Operating = true
		w.After(30_000, func() { operate(w) })
	}
	return nil
}

// earliest returns the earliest due time in the index. The result any is false if no task is due.
func earliest(s *Store) (first time.Time, any bool) {
	for _, r := range s.Rows {
		if !r.Due.IsZero() && (!any || r.Due.Before(first)) {
			first = r.Due
			any = true
		}
	}
	return first, any
}

type storePort struct {
	*Store // what is called without faults: Shards and List
	p      *Process
}

func (s storePort) Commit(_ context.Context, writes []port.Write) []error {
	errs := make([]error, len(writes))
	for i := range writes {
		wr := &writes[i]
		errs[i] = portCall(s.p, CallCommit, wr.Record.ID, func(f Fault) error {
			switch f {
			case TransactionConflict:
				return port.ErrConflict
			case ItemTooLarge:
				return port.ErrTooLarge
			}
			if f == AppliedButError && s.p.W.Choose("lost", wr.Record.ID, 2, 0.3) == 1 {
				// The request has not arrived, but the caller gets the same error as for a lost reply.
				return errAnswer
			}
			err := write(s.p.W, later(s.p, wr))
			if f == LateDoubt && wr.Expected == 0 && err == nil {
				pauseFor(s.p.W.Cur, lateTime+s.p.W.Spread("late", wr.Record.ID, 60_000))
			}
			switch {
			case err != nil:
				return err
			case f == AppliedButError, f == OwnAsCondition, f == LateDoubt:
				return errAnswer // the caller cannot know whether its write is stored; see port.Store
			}
			return nil
		})
	}
	return errs
}

// lateTime is the shortest time between a create and its error in the fault LateDoubt, in milliseconds.
const lateTime = 10 * 60_000

// later adds a field to the document of a write if the process runs a newer version. Older versions do not
// know the field and must keep it.
func later(p *Process, wr *port.Write) *port.Write {
	// With a size limit the field could make the document too large.
	if p.Deploy == 0 || p.W.Room.Limit > 0 {
		return wr
	}
	t, err := state.DecodeTask(wr.Record.Document)
	if err != nil || t.Unknown[LaterField] != nil {
		return wr
	}
	c := *t
	c.Unknown = maps.Clone(t.Unknown)
	if c.Unknown == nil {
		c.Unknown = map[string]json.RawMessage{}
	}
	c.Unknown[LaterField] = json.RawMessage(`"1"`)
	w := *wr
	w.Record.Document, err = state.EncodeTask(&c)
	if err != nil {
		return wr
	}
	return &w
}

var errAnswer = fmt.Errorf("the answer was lost on its way")

// Load implements port.Store. A throttle affects one record or all records.
func (s storePort) Load(_ context.Context, ids []string) (records []*port.Record, errs []error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err := portCall(s.p, CallLoad, ids[0], func(f Fault) error {
		struck := -1
		if f == Throttle {
			struck = s.p.W.Choose("struck", ids[0], len(ids), 0.5) - 1
			if struck < 0 {
				return port.ErrUnavailable
			}
		}
		records, errs = s.Store.Load(ctx, ids)
		if struck >= 0 {
			records[struck] = nil
			errs[struck] = port.ErrUnavailable
		}
		return nil
	})
	if err != nil {
		return make([]*port.Record, len(ids)), slices.Repeat([]error{err}, len(ids))
	}
	return records, errs
}

func (s storePort) Content(_ context.Context, id, hash string) ([]byte, error) {
	// An error means that the content has expired or was erased after the handler loaded the task.
	return called(s.p, CallOrder, id, func(Fault) ([]byte, error) { return s.Store.Content(ctx, id, hash) })
}

func (s storePort) Erase(_ context.Context, id, hash string) error {
	return portCall(s.p, CallOrder, id, func(Fault) error { return s.Store.Erase(ctx, id, hash) })
}

func (s storePort) Ended(_ context.Context, id string) (bool, error) {
	return called(s.p, CallOrder, id, func(Fault) (bool, error) { return s.Store.Ended(ctx, id) })
}

func (s storePort) Place(_ context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	return portCall(s.p, CallCommit, id, func(Fault) error { return s.Store.Place(ctx, id, version, bucket, at) })
}

func (s storePort) Due(_ context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int,
) ([]port.Due, error) {
	if bucket == port.DamagedBucket { // no task of the simulation is damaged
		return nil, nil
	}
	return called(s.p, CallDue, "index", func(f Fault) ([]port.Due, error) {
		found, err := s.Store.Due(ctx, bucket, shard, before, after, limit)
		switch f {
		case MissingIndex:
			found = found[:len(found)/2]
		case StaleIndex, TerminalAsDue:
			found = hallucinate(s.Store, found, f, shard, limit)
		}
		return found, err
	})
}

func hallucinate(s *Store, found []port.Due, f Fault, shard, limit int) []port.Due {
	for _, r := range s.Rows {
		there := slices.ContainsFunc(found, func(d port.Due) bool { return d.ID == r.ID })
		switch {
		case there || len(found) == limit || port.ShardOf(r.ID, s.Shards()) != shard:
		case f == StaleIndex && len(r.WasDue) > 0:
			found = append(found, port.Due{ID: r.ID, At: r.WasDue[len(r.WasDue)-1]})
		case f == TerminalAsDue && r.Task != nil && r.Task.Terminal():
			found = append(found, port.Due{ID: r.ID, At: r.Task.Created.Std()})
		}
	}
	slices.SortFunc(found, memory.EarliestFirst)
	return found
}

type leases struct{ p *Process }

func (l leases) Acquire(_ context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error) {
	return called(l.p, CallLease, name, func(Fault) (bool, error) {
		return l.p.W.Leases.Acquire(ctx, name, owner, now, ttl)
	})
}

type ledgerPort struct {
	p *Process
	l *memory.Ledger
}

func (l ledgerPort) Entry(_ context.Context, key string) (port.LedgerEntry, error) {
	return called(l.p, CallEntry, key, func(Fault) (port.LedgerEntry, error) { return l.l.Entry(ctx, key) })
}

func (l ledgerPort) Move(_ context.Context, e port.LedgerEntry) error {
	return portCall(l.p, CallMove, e.Key, func(f Fault) error {
		err := l.l.Move(ctx, e)
		switch {
		case err != nil:
			return err
		case f == AppliedButError:
			return errAnswer
		case f == OwnAsCondition:
			return port.ErrConflict
		}
		return nil
	})
}
