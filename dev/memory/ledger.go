package memory

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Ledger implements port.Ledger in memory (P31, a plain service needs a ledger). A Ledger is safe for
// concurrent use.
type Ledger struct {
	mu      sync.Mutex
	entries map[string]port.LedgerEntry
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{entries: map[string]port.LedgerEntry{}} }

// Entry returns a copy of the entry for the key. Version is 0 if there is no entry.
func (l *Ledger) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	if err := ctx.Err(); err != nil {
		return port.LedgerEntry{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, there := l.entries[key]
	if !there {
		return port.LedgerEntry{Key: key}, nil
	}
	e.Output = bytes.Clone(e.Output)
	return e, nil
}

// Move stores e with a version higher by one. It returns port.ErrConflict if the stored version is not
// e.Version.
func (l *Ledger) Move(ctx context.Context, e port.LedgerEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stored := l.entries[e.Key].Version; stored != e.Version {
		return fmt.Errorf("ledger entry %q has version %d, expected was %d: %w", e.Key, stored, e.Version,
			port.ErrConflict)
	}
	e.Version++
	e.Output = bytes.Clone(e.Output)
	l.entries[e.Key] = e
	return nil
}
