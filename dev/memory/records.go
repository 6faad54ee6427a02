package memory

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// exclusive executes one operation at a time.
type exclusive struct{ mu sync.Mutex }

// do executes an operation, unless ctx has ended.
func (x *exclusive) do(ctx context.Context, operation func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return operation()
}

// Definitions implements port.Definitions in memory. A Definitions is safe for concurrent use.
type Definitions struct {
	exclusive
	data map[string][]byte
}

// NewDefinitions returns an empty Definitions.
func NewDefinitions() *Definitions { return &Definitions{data: map[string][]byte{}} }

// Definition returns a copy of the definition with this hash, or port.ErrNotFound.
func (d *Definitions) Definition(ctx context.Context, hash string) (data []byte, err error) {
	err = d.do(ctx, func() error {
		stored, there := d.data[hash]
		if !there {
			return fmt.Errorf("definition %q: %w", hash, port.ErrNotFound)
		}
		data = bytes.Clone(stored)
		return nil
	})
	return data, err
}

// PutDefinition stores the definition. It changes nothing if a definition with this hash exists.
func (d *Definitions) PutDefinition(ctx context.Context, hash string, data []byte) error {
	if err := port.CheckDefinition(hash, data); err != nil {
		return err
	}
	return d.do(ctx, func() error {
		d.data[hash] = bytes.Clone(data) // the same bytes, if one is stored
		return nil
	})
}

// Ledger implements port.Ledger in memory (P31, a plain service needs a ledger). A Ledger is safe for
// concurrent use.
type Ledger struct {
	exclusive
	entries map[string]port.LedgerEntry
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{entries: map[string]port.LedgerEntry{}} }

// Entry returns a copy of the entry for the key. Version is 0 if there is no entry.
func (l *Ledger) Entry(ctx context.Context, key string) (e port.LedgerEntry, err error) {
	err = l.do(ctx, func() error {
		e = l.entries[key]
		e.Key = key
		e.Output = bytes.Clone(e.Output)
		return nil
	})
	return e, err
}

// Move stores e with a version higher by one. It returns port.ErrConflict if the stored version is not
// e.Version.
func (l *Ledger) Move(ctx context.Context, e port.LedgerEntry) error {
	return l.do(ctx, func() error {
		if stored := l.entries[e.Key].Version; stored != e.Version {
			return fmt.Errorf("ledger entry %q has version %d, expected was %d: %w", e.Key, stored, e.Version,
				port.ErrConflict)
		}
		e.Version++
		e.Output = bytes.Clone(e.Output)
		l.entries[e.Key] = e
		return nil
	})
}

// Leases implements port.Leases in memory. A Leases is safe for concurrent use.
type Leases struct {
	exclusive
	held map[string]lease
}

type lease struct {
	owner string
	until time.Time
}

// NewLeases returns a Leases in which every lease is free.
func NewLeases() *Leases { return &Leases{held: map[string]lease{}} }

// Acquire gives the lease to owner if the lease is free, has expired, or already belongs to owner.
func (l *Leases) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration,
) (acquired bool, err error) {
	err = l.do(ctx, func() error {
		held := l.held[name]
		acquired = held.owner == owner || !now.Before(held.until) || held.until.After(now.Add(ttl+port.MaxLeaseSkew))
		if acquired {
			l.held[name] = lease{owner, now.Add(ttl)}
		}
		return nil
	})
	return acquired, err
}
