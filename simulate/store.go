package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// store is the simulated state store: one shard, strongly consistent, its index a hint.
type store struct {
	w    *simulation
	rows map[string]*row
	ids  []string // in the order of their making
	defs map[string][]byte
	bare bool // documents are not looked into: those of the contract's suite are no tasks
}

// row is what the store holds of one order.
type row struct {
	record  *port.Record // nil if there is none, or if it has expired
	task    *core.Task   // task of the record
	hash    string
	content []byte      // content kept apart
	ended   bool        // its record has expired (P26)
	wasDue  []time.Time // earlier places in the index
}

// known reports whether an order of this ID was ever stored.
func (r *row) known() bool { return r != nil && (r.record != nil || r.ended) }

// order is the order as submitted; empty after a Cancel that came first, and once the record has expired.
func (r *row) order() []byte {
	switch {
	case r.task == nil:
		return nil
	case r.task.Apart():
		return r.content
	}
	return r.task.Order
}

// expire removes all but the order's ID.
func (r *row) expire() { *r = row{ended: r.known()} }

func (s *store) row(id string) *row {
	r := s.rows[id]
	if r == nil {
		r = &row{}
		s.rows[id] = r
		s.ids = append(s.ids, id)
	}
	return r
}

// task is what stands in the store, nil where there is none.
func (s *store) task(id string) *core.Task {
	if r := s.rows[id]; r != nil {
		return r.task
	}
	return nil
}

// write is one conditional write (P8).
func (s *store) write(wr *port.Write) error {
	if err := port.CheckWrite(wr); err != nil {
		return err
	}
	id := wr.Record.ID
	r := s.row(id)
	switch {
	case wr.Expected == 0 && r.known():
		return fmt.Errorf("order %s: %w", id, port.ErrExists)
	case wr.Expected > 0 && r.record == nil:
		return fmt.Errorf("order %s: %w", id, port.ErrNotFound)
	case wr.Expected > 0 && r.record.Version != wr.Expected:
		return fmt.Errorf("order %s: %w", id, port.ErrConflict)
	}
	var after *core.Task
	if !s.bare {
		var err error
		if after, err = state.DecodeTask(wr.Record.Document); err != nil {
			s.w.violate("bug", "a document of %s that was written cannot be read: %v", id, err)
			return err
		}
		s.w.checks.did("bug")
	}
	before := r.task
	if r.record != nil && r.record.Bucket == port.DueBucket {
		r.wasDue = append(r.wasDue[max(0, len(r.wasDue)-3):], r.record.IndexAt)
	}
	record := ownRecord(&wr.Record)
	r.record, r.task = record, after
	if wr.Expected == 0 {
		r.hash, r.content = wr.Hash, bytes.Clone(wr.Content)
	}
	if !s.bare {
		s.w.committed(before, after, record)
	}
	return nil
}

// ownRecord is a copy: what is in the store changes by writes only.
func ownRecord(r *port.Record) *port.Record {
	own := *r
	own.Document = bytes.Clone(r.Document)
	return &own
}

// due lists what is due, earliest first.
func (s *store) due(bucket port.Bucket, shard int, before time.Time, after *port.Due, limit int) []port.Due {
	var found []port.Due
	for _, id := range s.ids {
		r := s.rows[id].record
		if r != nil && r.Bucket == bucket && !r.IndexAt.After(before) && s.shard(id) == shard {
			d := port.Due{ID: id, At: r.IndexAt}
			if after == nil || compareDue(d, *after) > 0 {
				found = append(found, d)
			}
		}
	}
	slices.SortFunc(found, compareDue)
	return found[:max(0, min(limit, len(found)))]
}

func compareDue(a, b port.Due) int {
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}

func (s *store) shard(id string) int {
	if s.w.shards == 1 {
		return 0
	}
	return port.ShardOf(id, s.w.shards)
}

// earliest is the first time in the index.
func (s *store) earliest() (first time.Time, any bool) {
	for _, id := range s.ids {
		if r := s.rows[id].record; r != nil && r.Bucket == port.DueBucket &&
			(!any || r.IndexAt.Before(first)) {
			first, any = r.IndexAt, true
		}
	}
	return first, any
}

// storePort is the store as one process sees it.
type storePort struct{ p *process }

func (s storePort) Shards() int { return s.p.w.shards }

func (s storePort) Commit(_ context.Context, writes []port.Write) []error {
	errs := make([]error, len(writes))
	iv, st := s.p.w.cur, s.p.w.store
	for i := range writes {
		wr := &writes[i]
		errs[i] = iv.io(callCommit, wr.Record.ID, func(f Fault) error {
			switch f {
			case Throttle:
				return port.ErrUnavailable
			case TransactionConflict:
				return port.ErrConflict
			case ItemTooLarge:
				iv.sight(wr.Record.ID).cut = wr.Expected == 0
				return port.ErrTooLarge
			}
			if f == AppliedButError && s.p.w.choose("lost", wr.Record.ID, 2, 0.3) == 1 {
				iv.sight(wr.Record.ID).doubt = true
				return errAnswer // it never arrived, and the caller does not learn that either
			}
			err := st.write(s.p.later(wr))
			if f == LateDoubt && wr.Expected == 0 && err == nil {
				iv.pause(lateTime + s.p.w.spread("late", wr.Record.ID, 60_000))
			}
			switch {
			case err != nil:
				return err
			case f == AppliedButError, f == OwnAsCondition, f == LateDoubt:
				iv.sight(wr.Record.ID).doubt = true
				return errAnswer // the adapter cannot distinguish its own write from another's (port.Store)
			}
			return nil
		})
	}
	return errs
}

// lateTime is how long the caller of a create waits at least until it learns that its answer was lost.
const lateTime = 10 * 60_000

// later is a write as a newer version of the program makes it: with a field that older ones do not
// know, and have to keep.
func (p *process) later(wr *port.Write) *port.Write {
	// what it adds was not looked at when the document was found to fit
	if p.deploy == 0 || p.w.room.Limit > 0 {
		return wr
	}
	t, err := state.DecodeTask(wr.Record.Document)
	if err != nil || t.Unknown[laterField] != nil {
		return wr
	}
	c := *t
	c.Unknown = maps.Clone(t.Unknown)
	if c.Unknown == nil {
		c.Unknown = map[string]json.RawMessage{}
	}
	c.Unknown[laterField] = json.RawMessage(`"1"`)
	w := *wr
	if w.Record.Document, err = state.EncodeTask(&c); err != nil {
		return wr
	}
	return &w
}

const laterField = "laterField"

var errAnswer = fmt.Errorf("the answer was lost on its way")

// Load answers each record on its own: a throttle may affect one of them, or all.
func (s storePort) Load(_ context.Context, ids []string) ([]*port.Record, []error) {
	records, errs := make([]*port.Record, len(ids)), make([]error, len(ids))
	if len(ids) == 0 {
		return records, errs
	}
	iv := s.p.w.cur
	err := iv.io(callLoad, ids[0], func(f Fault) error {
		struck := -1
		if f == Throttle {
			if struck = s.p.w.choose("struck", ids[0], len(ids), 0.5) - 1; struck < 0 {
				return port.ErrUnavailable
			}
			iv.trouble, iv.broken = true, true
		}
		for i, id := range ids {
			if i == struck {
				errs[i] = port.ErrUnavailable
				continue
			}
			if r := s.p.w.store.rows[id]; r != nil && r.record != nil {
				records[i] = ownRecord(r.record)
			}
			iv.loaded(id, s.p.w.store.task(id))
		}
		return nil
	})
	if err != nil {
		return make([]*port.Record, len(ids)), slices.Repeat([]error{err}, len(ids))
	}
	return records, errs
}

func (s storePort) Content(_ context.Context, id, hash string) (content []byte, err error) {
	err = s.p.w.cur.io(callOrder, id, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		if r := s.p.w.store.rows[id]; r != nil && r.content != nil && r.hash == hash {
			content = bytes.Clone(r.content)
			return nil
		}
		s.p.w.cur.trouble, s.p.w.cur.broken = true, true // it has expired since its task was loaded
		return fmt.Errorf("order %s: %w", id, port.ErrNotFound)
	})
	return content, err
}

func (s storePort) Erase(_ context.Context, id, hash string) error {
	return s.p.w.cur.io(callOrder, id, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		if r := s.p.w.store.rows[id]; r != nil && r.hash == hash {
			r.content = nil
		}
		return nil
	})
}

func (s storePort) Ended(_ context.Context, id string) (ended bool, err error) {
	err = s.p.w.cur.io(callOrder, id, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		ended = s.p.w.store.rows[id] != nil && s.p.w.store.rows[id].ended
		return nil
	})
	return ended, err
}

func (s storePort) Due(_ context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int) ([]port.Due, error) {
	st := s.p.w.store
	var found []port.Due
	err := s.p.w.cur.io(callDue, "index", func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		s.p.w.cur.looks(shard)
		found = st.due(bucket, shard, before, after, limit)
		switch f {
		case MissingIndex:
			s.p.w.cur.trouble, s.p.w.cur.broken = true, true
			found = found[:len(found)/2]
		case StaleIndex, TerminalAsDue:
			found = st.hallucinate(found, f, shard, limit)
		}
		return nil
	})
	return found, err
}

// hallucinate adds rows that stood in the index before, or never.
func (s *store) hallucinate(found []port.Due, f Fault, shard, limit int) []port.Due {
	for _, id := range s.ids {
		r := s.rows[id]
		there := slices.ContainsFunc(found, func(d port.Due) bool { return d.ID == id })
		switch {
		case there || len(found) == limit || s.shard(id) != shard:
		case f == StaleIndex && len(r.wasDue) > 0:
			found = append(found, port.Due{ID: id, At: r.wasDue[len(r.wasDue)-1]})
		case f == TerminalAsDue && r.task != nil && r.task.Terminal():
			found = append(found, port.Due{ID: id, At: r.record.Created})
		}
	}
	slices.SortFunc(found, compareDue)
	return found
}

func (s storePort) List(context.Context, port.Query) (port.Page, error) {
	return port.Page{}, fmt.Errorf("the simulated store lists nothing")
}

// Definition and PutDefinition keep compiled workflows; no fault is injected here, since a retry would
// repair each at once.
func (s *store) Definition(_ context.Context, hash string) ([]byte, error) {
	if d, ok := s.defs[hash]; ok {
		return bytes.Clone(d), nil
	}
	return nil, port.ErrNotFound
}

func (s *store) PutDefinition(_ context.Context, hash string, data []byte) error {
	if err := port.CheckDefinition(hash, data); err != nil {
		return err
	}
	if _, ok := s.defs[hash]; !ok {
		s.defs[hash] = bytes.Clone(data)
	}
	return nil
}

// lease is who works on the index until when.
type lease struct {
	owner string
	until time.Time
}

// leases keep Supervisors from doing the same work twice, mostly.
type leases struct{ p *process }

func (l leases) Acquire(_ context.Context, name, owner string, now time.Time,
	ttl time.Duration) (ours bool, err error) {
	w := l.p.w
	err = w.cur.io(callLease, name, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		held, there := w.leases[name]
		defer func() { w.cur.leased(name, ours) }()
		if ours = !there || held.owner == owner || !now.Before(held.until); ours {
			w.leases[name] = lease{owner, now.Add(ttl)}
		}
		return nil
	})
	return ours, err
}

// ledger is the table of one agent (P31); all its instances share it.
type ledger struct{ entries map[string]port.LedgerEntry }

// ledgerPort is the ledger as one instance sees it.
type ledgerPort struct {
	p *process
	l *ledger
}

func (l ledgerPort) Entry(_ context.Context, key string) (e port.LedgerEntry, err error) {
	err = l.p.w.cur.io(callEntry, key, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		e = l.l.entries[key]
		e.Key = key
		if a := &l.p.w.cur.agency; !a.entered && !a.called {
			a.first, a.read = e, true
		}
		return nil
	})
	e.Output = bytes.Clone(e.Output)
	return e, err
}

func (l ledgerPort) Move(_ context.Context, e port.LedgerEntry) error {
	return l.p.w.cur.io(callMove, e.Key, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		before := l.l.entries[e.Key]
		if before.Version != e.Version {
			return port.ErrConflict
		}
		iv := l.p.w.cur
		iv.moves(before, e)
		iv.agency.entered, iv.agency.state = true, e.State
		e.Version++
		e.Output = bytes.Clone(e.Output)
		l.l.entries[e.Key] = e
		switch f {
		case AppliedButError:
			return errAnswer
		case OwnAsCondition:
			return port.ErrConflict
		}
		return nil
	})
}
