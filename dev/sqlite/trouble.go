package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	engine "modernc.org/sqlite"
	code "modernc.org/sqlite/lib"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// unavailable returns the error for writes that were not stored.
func (s *Store) unavailable(cause error) error {
	return fmt.Errorf("not stored: %w (%w)", s.explained(cause), port.ErrUnavailable)
}

// explained adds advice to an error of SQLite. If the error shows that the file is damaged, explained
// remembers the damage.
func (s *Store) explained(err error) error {
	var e *engine.Error
	number := 0
	if errors.As(err, &e) {
		number = e.Code()
	}
	if err != nil && e == nil && !ended(err) && s.committer.stopped() {
		return errClosed // the error of database/sql for this has no name
	}
	switch {
	case number == code.SQLITE_IOERR_SHMSIZE || errors.Is(err, syscall.ENOSPC):
		number = code.SQLITE_FULL
	case errors.Is(err, ErrDamaged):
		number = code.SQLITE_CORRUPT
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		number = code.SQLITE_PERM
	}
	switch number & 0xff {
	case code.SQLITE_CANTOPEN, code.SQLITE_IOERR:
		// SQLite does not tell why a file cannot be opened.
		if fewDescriptors() {
			return fmt.Errorf("the process has too many open files: raise its limit, as with ulimit -n 4096: %w", err)
		}
	}
	if number == code.SQLITE_READONLY_ROLLBACK {
		return fmt.Errorf("another program was interrupted while it changed the file, and left %s-journal: "+
			"let sqlite3 undo the change, with: sqlite3 %[1]s 'PRAGMA quick_check': %[2]w", FileName, err)
	}
	if text := advice[number&0xff]; text != "" {
		return fmt.Errorf("%s: %w", text, err)
	}
	switch number & 0xff {
	case code.SQLITE_CORRUPT, code.SQLITE_NOTADB:
		if !errors.Is(err, ErrDamaged) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		err = fmt.Errorf("%w; %s", err, damaged)
		s.damage.CompareAndSwap(nil, &err)
	}
	return err
}

const unwritable = "the data folder cannot be written: give the user that runs this the right to write there"

// advice contains the advice for codes of SQLite.
var advice = map[int]string{
	code.SQLITE_FULL:     "the disk is full: make room for the data folder; a process that runs goes on by itself then",
	code.SQLITE_READONLY: unwritable,
	code.SQLITE_PERM:     unwritable,
	code.SQLITE_CANTOPEN: unwritable,
	code.SQLITE_IOERR:    "the data folder cannot be read or written: look at the disk and its free space",
}

// fewDescriptors reports whether the process cannot open the files of a connection of SQLite.
func fewDescriptors() bool {
	for range 4 {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			return true
		}
		defer func() { _ = f.Close() }()
	}
	return false
}

var errClosed = fmt.Errorf("the store is closed: %w", port.ErrUnavailable)

// ended reports whether the error is that of a context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// scanned explains the error of reading a row. If a value does not have the type of its column, the file is
// damaged.
func (s *Store) scanned(err error) error {
	var e *engine.Error
	if err == nil || ended(err) || errors.As(err, &e) || s.committer.stopped() {
		return s.explained(err)
	}
	return s.explained(fmt.Errorf("%w: %w", ErrDamaged, err))
}

// hidden returns the known damage of the file, which may hide a row that was not found. It returns nil if no damage is
// known.
func (s *Store) hidden() error {
	found := s.damage.Load()
	if found == nil {
		return nil
	}
	return *found
}

// opened is a file that SQLite has open.
type opened struct {
	name string
	file identity
}

func identify(names ...string) ([]opened, error) {
	all := make([]opened, len(names))
	for i, name := range names {
		file, err := identityOf(name)
		if err != nil {
			return nil, err
		}
		all[i] = opened{name, file}
	}
	return all, nil
}

// present returns an error if a file that SQLite has open is not the file of its name any more. SQLite does
// not notice it: commits then go to a file without a name, which is lost at the end of the process.
func (s *Store) present() error {
	for _, o := range s.opened {
		file, err := identityOf(o.name)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && !file.same(o.file):
			return fmt.Errorf("%s was removed, moved or replaced while this process runs: "+
				"stop the process, put the data folder back or restore a backup, then start again", o.name)
		case err != nil:
			return err
		}
	}
	return nil
}

const damaged = "stop the process, keep a copy of the data folder, then restore a backup " +
	"into a new folder, " +
	"or rescue what can be read with: sqlite3 stepkeeper.db .recover"
