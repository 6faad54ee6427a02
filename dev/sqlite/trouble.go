package sqlite

import (
	"errors"
	"fmt"

	engine "modernc.org/sqlite"
	code "modernc.org/sqlite/lib"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// unavailable is the answer to writes that were not stored because of cause.
func (s *Store) unavailable(cause error) error {
	return fmt.Errorf("not stored: %w (%w)", s.explained(cause), port.ErrUnavailable)
}

// explained says what to do about an error of SQLite. It remembers that the file is damaged.
func (s *Store) explained(err error) error {
	var e *engine.Error
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w; %s", err, damaged)
	}
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case code.SQLITE_FULL:
		return fmt.Errorf("the disk is full: make room for the data folder, writing goes on by itself then: %w", err)
	case code.SQLITE_READONLY, code.SQLITE_PERM, code.SQLITE_CANTOPEN:
		return fmt.Errorf("the data folder cannot be written: give the user that runs this the right to write there: %w", err)
	case code.SQLITE_IOERR:
		return fmt.Errorf("the data folder cannot be read or written: look at the disk and its free space: %w", err)
	case code.SQLITE_CORRUPT, code.SQLITE_NOTADB:
		err = fmt.Errorf("%w: %w; %s", ErrDamaged, err, damaged)
		s.damage.CompareAndSwap(nil, &err)
	}
	return err
}

const damaged = "stop the process, keep a copy of the data folder, then restore a backup, or rescue what can be read with: sqlite3 stepkeeper.db .recover"
