package storetest_test

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// row is what a Store knows of one ID. It is a value: the functions below answer a new one, and
// say nothing of how anything is stored. Random sequences and histories are held to them.
type row struct {
	record  *port.Record
	hash    string
	content []byte // content kept apart
	expired bool
	// refused are the documents of writes that a history says were refused; empty but there. It
	// follows from which calls have been, so that rows after the same calls need not be distinguished by it.
	refused []string
}

// commit returns the row after a Commit of one write, or its error (P8, every commit is conditional; P26, an
// ID never runs twice).
func (r row) commit(w port.Write) (row, error) {
	if err := port.CheckWrite(&w); err != nil {
		return r, err
	}
	switch {
	case w.Expected == 0 && (r.record != nil || r.expired):
		return r, port.ErrExists
	case w.Expected > 0 && r.record == nil:
		return r, port.ErrNotFound
	case w.Expected > 0 && r.record.Version != w.Expected:
		return r, port.ErrConflict
	}
	r.record = &w.Record
	if w.Expected == 0 {
		r.hash = w.Hash
		r.content = w.Content
	}
	return r, nil
}

// place returns the row after Place, or its error (P60, a damaged order is set aside).
func (r row) place(version int64, bucket port.Bucket, at time.Time) (row, error) {
	switch {
	case r.record == nil:
		return r, port.ErrNotFound
	case r.record.Version != version:
		return r, port.ErrConflict
	}
	placed := *r.record
	placed.Bucket = bucket
	placed.IndexAt = at
	if bucket == port.NoBucket {
		placed.IndexAt = time.Time{}
	}
	r.record = &placed
	return r, nil
}

// erase returns the row after Erase (P52, erase removes content, not identity).
func (r row) erase(hash string) row {
	if r.hash == hash {
		r.content = nil
	}
	return r
}

// forget returns the row after the end of its retention (P26).
func (r row) forget() row { return row{expired: r.expired || r.record != nil, refused: r.refused} }

// acquire returns the lease after Leases.Acquire.
func (l held) acquire(owner string, now time.Time, ttl time.Duration) (held, bool) {
	if l.owner != "" && l.owner != owner && now.Before(l.until) &&
		!l.until.After(now.Add(ttl+port.MaxLeaseSkew)) {
		return l, false
	}
	return held{owner, now.Add(ttl)}, true
}

// held is one lease.
type held struct {
	owner string
	until time.Time
}

// move returns the entry after Ledger.Move, or its error (P31, a plain service needs a ledger).
func move(stored, e port.LedgerEntry) (port.LedgerEntry, error) {
	if stored.Version != e.Version {
		return stored, port.ErrConflict
	}
	e.Version++
	return e, nil
}

// model is all ports on maps of such values: for one goroutine, in one shard, never stale.
type model struct {
	rows        map[string]row
	definitions map[string][]byte
	leases      map[string]held
	entries     map[string]port.LedgerEntry
}

func newModel() Backends {
	m := &model{
		rows: map[string]row{}, definitions: map[string][]byte{}, leases: map[string]held{},
		entries: map[string]port.LedgerEntry{},
	}
	return Backends{Store: m, Definitions: m, Leases: m, Ledger: m, Forget: m.forget}
}

func (m *model) Shards() int { return 1 }

func (m *model) Commit(_ context.Context, writes []port.Write) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		var err error
		m.rows[w.Record.ID], err = m.rows[w.Record.ID].commit(w)
		if err != nil {
			errs[i] = err
		}
	}
	return errs
}

func (m *model) Place(_ context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	r, err := m.rows[id].place(version, bucket, at)
	if err == nil {
		m.rows[id] = r
	}
	return err
}

func (m *model) Load(_ context.Context, ids []string) ([]*port.Record, []error) {
	records := make([]*port.Record, len(ids))
	for i, id := range ids {
		records[i] = m.rows[id].record
	}
	return records, make([]error, len(ids))
}

func (m *model) Content(_ context.Context, id, hash string) ([]byte, error) {
	if r := m.rows[id]; r.content != nil && r.hash == hash {
		return r.content, nil
	}
	return nil, port.ErrNotFound
}

func (m *model) Erase(_ context.Context, id, hash string) error {
	if r, there := m.rows[id]; there {
		m.rows[id] = r.erase(hash)
	}
	return nil
}

func (m *model) Ended(_ context.Context, id string) (bool, error) { return m.rows[id].expired, nil }

func (m *model) Due(_ context.Context, bucket port.Bucket, _ int, before time.Time, after *port.Due,
	limit int,
) ([]port.Due, error) {
	earliest := func(a, b port.Due) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) }
	var found []port.Due
	for id, r := range m.rows {
		if r.record == nil || r.record.Bucket != bucket || r.record.IndexAt.After(before) {
			continue
		}
		if d := (port.Due{ID: id, At: r.record.IndexAt}); after == nil || earliest(d, *after) > 0 {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, earliest)
	return found[:min(limit, len(found))], nil
}

func (m *model) List(_ context.Context, q port.Query) (port.Page, error) {
	var found []port.Record
	for _, r := range m.rows {
		r := r.record
		if r != nil && (!q.Damaged || r.Bucket == port.DamagedBucket) && (q.State == "" || q.State == r.State) &&
			(q.Workflow == "" || q.Workflow == r.Workflow) &&
			(q.Before.IsZero() || r.Created.Before(q.Before)) &&
			(q.After.IsZero() || !r.Created.Before(q.After)) {
			found = append(found, *r)
		}
	}
	newest := func(a, b port.Record) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	}
	slices.SortFunc(found, newest)
	if q.Oldest {
		return port.Page{Records: found[max(len(found)-1, 0):]}, nil
	}
	if i := slices.IndexFunc(found, func(r port.Record) bool { return r.ID == q.Cursor }); q.Cursor != "" {
		found = found[i+1:]
	}
	page := port.Page{Records: found}
	if len(found) > q.Limit {
		page.Records = found[:q.Limit]
		page.Next = found[q.Limit-1].ID
	}
	return page, nil
}

func (m *model) forget(_ context.Context, ids []string) error {
	for _, id := range ids {
		m.rows[id] = m.rows[id].forget()
	}
	return nil
}

func (m *model) Definition(_ context.Context, hash string) ([]byte, error) {
	if data, there := m.definitions[hash]; there {
		return data, nil
	}
	return nil, port.ErrNotFound
}

func (m *model) PutDefinition(_ context.Context, hash string, data []byte) error {
	if core.DefinitionHash(data) != hash {
		return port.ErrHash
	}
	if _, there := m.definitions[hash]; !there {
		m.definitions[hash] = bytes.Clone(data)
	}
	return nil
}

func (m *model) Acquire(_ context.Context, name, owner string, now time.Time,
	ttl time.Duration,
) (ours bool, err error) {
	m.leases[name], ours = m.leases[name].acquire(owner, now, ttl)
	return ours, nil
}

func (m *model) Entry(_ context.Context, key string) (port.LedgerEntry, error) {
	e := m.entries[key]
	e.Key = key
	return e, nil
}

func (m *model) Move(_ context.Context, e port.LedgerEntry) (err error) {
	m.entries[e.Key], err = move(m.entries[e.Key], e)
	return err
}
