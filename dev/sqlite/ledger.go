package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Entry returns the ledger entry for a key. Version is 0 if there is no entry.
func (s *Store) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	e := port.LedgerEntry{Key: key}
	var sum []byte
	columns := []any{&e.Version, &e.State, &e.Attempt, &e.Command, &e.Code, &e.Message, &e.Output, &sum}
	found, err := s.first(ctx, columns,
		"SELECT version, state, attempt, command, code, message, output, sum FROM ledger WHERE key=?", key)
	if err == nil && !found {
		err = s.hidden()
	}
	if sum != nil && changed(entryText(e), sum) {
		err = s.scanned(errors.New("the entry does not match its checksum"))
	}
	if err != nil {
		return port.LedgerEntry{}, fmt.Errorf("ledger entry %q: %w", key, err)
	}
	return e, nil
}

// Move stores e with a version higher by one. It returns port.ErrConflict if the stored version is not
// e.Version (P31, a plain service needs a ledger).
func (s *Store) Move(ctx context.Context, e port.LedgerEntry) error {
	text := "INSERT INTO ledger(version, state, attempt, command, code, message, output, sum, key) " +
		"VALUES(?,?,?,?,?,?,?,?,?) ON CONFLICT(key) DO NOTHING"
	args := []any{
		e.Version + 1, e.State, e.Attempt, e.Command, e.Code, e.Message, e.Output,
		checksum(entryText(e)), e.Key,
	}
	if e.Version != 0 {
		text = "UPDATE ledger SET version=?, state=?, attempt=?, command=?, code=?, message=?, output=?, sum=? " +
			"WHERE key=? AND version=?"
		args = append(args, e.Version)
	}
	moved := false
	if err := s.committer.do(ctx, func(tx *transaction) error {
		n, err := tx.exec(text, args...)
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
