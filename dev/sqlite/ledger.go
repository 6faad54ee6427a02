package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Entry returns the ledger entry for a key. Version is 0 if there is no entry.
func (s *Store) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	e := port.LedgerEntry{Key: key}
	var sum []byte
	err := s.reads.entry.QueryRowContext(ctx, key).Scan(&e.Version, &e.State, &e.Attempt, &e.Command, &e.Code,
		&e.Message, &e.Output, &sum)
	if err == nil && sum != nil && changed(entryText(e), sum) {
		err = errors.New("the entry does not match its checksum")
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
		if hidden := s.missing(); !errors.Is(hidden, port.ErrNotFound) {
			err = hidden
		}
	}
	if err != nil {
		return port.LedgerEntry{}, fmt.Errorf("ledger entry %q: %w", key, s.scanned(err))
	}
	return e, nil
}

// Move stores e with a version higher by one. It returns port.ErrConflict if the stored version is not
// e.Version (P31, a plain service needs a ledger).
func (s *Store) Move(ctx context.Context, e port.LedgerEntry) error {
	args := []any{
		e.Version + 1, e.State, e.Attempt, e.Command, e.Code, e.Message, e.Output,
		checksum(entryText(e)), e.Key,
	}
	if e.Version != 0 {
		args = append(args, e.Version)
	}
	moved := false
	if err := s.committer.do(ctx, func(tx *transaction) error {
		statement := tx.addEntry
		if e.Version != 0 {
			statement = tx.moveEntry
		}
		n, err := statement.exec(args...)
		moved = n == 1
		return err
	}); err != nil {
		return err
	}
	if !moved {
		return fmt.Errorf("ledger entry %q is not at version %d: %w", e.Key, e.Version, port.ErrConflict)
	}
	return nil
}

// entryText returns what the checksum of an entry is computed from. The index of the table notices another key.
func entryText(e port.LedgerEntry) []byte {
	return fmt.Appendf(nil, "%q %d %d %q %q %q", e.State, e.Attempt, e.Command, e.Code, e.Message, e.Output)
}
