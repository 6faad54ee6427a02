package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// write executes one conditional write (P8, every commit is conditional).
func write(w *world.Simulation, wr *port.Write) error {
	if err := w.Store.Commit(ctx, []port.Write{*wr})[0]; err != nil {
		return err
	}
	after, err := state.DecodeTask(wr.Record.Document)
	if err != nil {
		w.Violate("bug", "a document of %s that was written cannot be read: %v", wr.Record.ID, err)
		return err
	}
	w.Checks.Did("bug")
	before := w.Store.Committed(&wr.Record, after)
	check.Committed(w, before, after, &wr.Record)
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
func earliest(s *world.Store) (first time.Time, any bool) {
	for _, r := range s.Rows {
		if !r.Due.IsZero() && (!any || r.Due.Before(first)) {
			first = r.Due
			any = true
		}
	}
	return first, any
}

type storePort struct{ p *world.Process }

func (s storePort) Shards() int { return s.p.W.Store.Shards() }

func (s storePort) Commit(_ context.Context, writes []port.Write) []error {
	errs := make([]error, len(writes))
	iv := s.p.W.Cur
	for i := range writes {
		wr := &writes[i]
		errs[i] = portCall(iv, world.CallCommit, wr.Record.ID, func(f world.Fault) error {
			switch f {
			case world.TransactionConflict:
				return port.ErrConflict
			case world.ItemTooLarge:
				return port.ErrTooLarge
			}
			if f == world.AppliedButError && s.p.W.Choose("lost", wr.Record.ID, 2, 0.3) == 1 {
				// The request has not arrived, but the caller gets the same error as for a lost reply.
				return errAnswer
			}
			err := write(s.p.W, later(s.p, wr))
			if f == world.LateDoubt && wr.Expected == 0 && err == nil {
				pauseFor(iv, lateTime+s.p.W.Spread("late", wr.Record.ID, 60_000))
			}
			switch {
			case err != nil:
				return err
			case f == world.AppliedButError, f == world.OwnAsCondition, f == world.LateDoubt:
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
func later(p *world.Process, wr *port.Write) *port.Write {
	// With a size limit the field could make the document too large.
	if p.Deploy == 0 || p.W.Room.Limit > 0 {
		return wr
	}
	t, err := state.DecodeTask(wr.Record.Document)
	if err != nil || t.Unknown[check.LaterField] != nil {
		return wr
	}
	c := *t
	c.Unknown = maps.Clone(t.Unknown)
	if c.Unknown == nil {
		c.Unknown = map[string]json.RawMessage{}
	}
	c.Unknown[check.LaterField] = json.RawMessage(`"1"`)
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
	err := portCall(s.p.W.Cur, world.CallLoad, ids[0], func(f world.Fault) error {
		struck := -1
		if f == world.Throttle {
			struck = s.p.W.Choose("struck", ids[0], len(ids), 0.5) - 1
			if struck < 0 {
				return port.ErrUnavailable
			}
		}
		records, errs = s.p.W.Store.Load(ctx, ids)
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

func (s storePort) Content(_ context.Context, id, hash string) (content []byte, err error) {
	err = portCall(s.p.W.Cur, world.CallOrder, id, func(world.Fault) (err error) {
		// An error means that the content has expired or was erased after the handler loaded the task.
		content, err = s.p.W.Store.Content(ctx, id, hash)
		return err
	})
	return content, err
}

func (s storePort) Erase(_ context.Context, id, hash string) error {
	return portCall(s.p.W.Cur, world.CallOrder, id, func(world.Fault) error {
		return s.p.W.Store.Erase(ctx, id, hash)
	})
}

func (s storePort) Ended(_ context.Context, id string) (ended bool, err error) {
	err = portCall(s.p.W.Cur, world.CallOrder, id, func(world.Fault) (err error) {
		ended, err = s.p.W.Store.Ended(ctx, id)
		return err
	})
	return ended, err
}

func (s storePort) Place(_ context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	return portCall(s.p.W.Cur, world.CallCommit, id, func(world.Fault) error {
		return s.p.W.Store.Place(ctx, id, version, bucket, at)
	})
}

func (s storePort) Due(_ context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int,
) (found []port.Due, err error) {
	if bucket == port.DamagedBucket { // no task of the simulation is damaged
		return nil, nil
	}
	st := s.p.W.Store
	err = portCall(s.p.W.Cur, world.CallDue, "index", func(f world.Fault) (err error) {
		found, err = st.Due(ctx, bucket, shard, before, after, limit)
		switch f {
		case world.MissingIndex:
			found = found[:len(found)/2]
		case world.StaleIndex, world.TerminalAsDue:
			found = hallucinate(st, found, f, shard, limit)
		}
		return err
	})
	return found, err
}

func hallucinate(s *world.Store, found []port.Due, f world.Fault, shard, limit int) []port.Due {
	for _, r := range s.Rows {
		there := slices.ContainsFunc(found, func(d port.Due) bool { return d.ID == r.ID })
		switch {
		case there || len(found) == limit || port.ShardOf(r.ID, s.Shards()) != shard:
		case f == world.StaleIndex && len(r.WasDue) > 0:
			found = append(found, port.Due{ID: r.ID, At: r.WasDue[len(r.WasDue)-1]})
		case f == world.TerminalAsDue && r.Task != nil && r.Task.Terminal():
			found = append(found, port.Due{ID: r.ID, At: r.Task.Created.Std()})
		}
	}
	slices.SortFunc(found, memory.EarliestFirst)
	return found
}

func (s storePort) List(context.Context, port.Query) (port.Page, error) {
	return port.Page{}, fmt.Errorf("the simulated store lists nothing")
}

type leases struct{ p *world.Process }

func (l leases) Acquire(_ context.Context, name, owner string, now time.Time,
	ttl time.Duration,
) (ours bool, err error) {
	w := l.p.W
	err = portCall(w.Cur, world.CallLease, name, func(world.Fault) (err error) {
		ours, err = w.Leases.Acquire(ctx, name, owner, now, ttl)
		return err
	})
	return ours, err
}

type ledgerPort struct {
	p *world.Process
	l *memory.Ledger
}

func (l ledgerPort) Entry(_ context.Context, key string) (e port.LedgerEntry, err error) {
	err = portCall(l.p.W.Cur, world.CallEntry, key, func(world.Fault) (err error) {
		e, err = l.l.Entry(ctx, key)
		return err
	})
	return e, err
}

func (l ledgerPort) Move(_ context.Context, e port.LedgerEntry) error {
	return portCall(l.p.W.Cur, world.CallMove, e.Key, func(f world.Fault) error {
		err := l.l.Move(ctx, e)
		switch {
		case err != nil:
			return err
		case f == world.AppliedButError:
			return errAnswer
		case f == world.OwnAsCondition:
			return port.ErrConflict
		}
		return nil
	})
}
