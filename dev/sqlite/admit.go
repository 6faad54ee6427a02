package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	engine "modernc.org/sqlite"

	"github.com/stepkeeper/stepkeeper/shared/regularfile"
)

// found describes the database file before SQLite opens it.
type found struct {
	file bool
	log  bool  // true if the file has a write-ahead log; the log contains the newest commits
	rest int64 // length of the log in bytes
}

// headerBytes is the length of the header of an SQLite file. The header contains the application ID at offset
// 68.
const headerBytes = 100

const restore = "restore a backup, or, if there are no orders that matter, remove the file"

// inspect refuses a file that is certainly not a database of Stepkeeper. It does not change the file. It
// refuses an empty file too, because create never leaves an empty file. It refuses a link, and a file with several hard
// links, because the lock is on the folder, and another process could use the file in its own folder.
func inspect(file string) (f found, err error) {
	for _, name := range names(file) {
		if err := regularfile.Check(name); errors.Is(err, regularfile.ErrNotRegular) {
			return f, fmt.Errorf("%s: %w; move it away, or put the file itself in its place", filepath.Base(name), err)
		}
	}
	if hasOtherNames(file) {
		return f, fmt.Errorf("%s has other names (hard links), by which another process could use it: remove them, "+
			"or put a copy of the file in its place", filepath.Base(file))
	}
	if info, err := os.Stat(file + "-wal"); err == nil {
		f.log = true
		f.rest = info.Size()
	}
	header, err := regularfile.Read(file, headerBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if f.rest > 0 {
			return f,
				fmt.Errorf(
					"%[1]s is missing, yet its write-ahead log is there: put the file back beside it, or "+
						"remove %[1]s-wal if there are no orders that matter", filepath.Base(file))
		}
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	f.file = true
	if len(header) == 0 {
		return f, fmt.Errorf("%s is empty: it was cut off or replaced; %s", filepath.Base(file), restore)
	}
	header = append(header, make([]byte, headerBytes-len(header))...)
	switch id := binary.BigEndian.Uint32(header[68:]); {
	case !bytes.HasPrefix(header, []byte("SQLite format 3\x00")):
		return f, fmt.Errorf("%s is not a database of SQLite; %s", filepath.Base(file), restore)
	case id != 0 && id != applicationID:
		return f, foreign(file)
	}
	return f, nil
}

func foreign(file string) error {
	return fmt.Errorf(
		"%s is the database of another program; choose another folder, or put your own file in its place",
		filepath.Base(file))
}

// create makes a new file with all tables. It first uses a different name, so that a killed process leaves no
// incomplete file under the final name.
func create(file string) error {
	unfinished := file + ".new"
	for _, name := range []string{unfinished, unfinished + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// this sets the mode of the file, because SQLite would let other users read the file
	if err := os.WriteFile(unfinished, nil, private); err != nil {
		return err
	}
	w, err := openWriter(source(unfinished, 1<<20, "synchronous(full)"))
	if err != nil {
		return err
	}
	if err := errors.Join(makeTables(w), w.close()); err != nil {
		return err
	}
	return os.Rename(unfinished, file)
}

// admit refuses a file that does not belong to Stepkeeper, or lacks its newest commits. It uses a read-only connection,
// so that a refused file stays unchanged.
func admit(file string, f found) error {
	w, err := openWriter(f.source(file))
	if err != nil {
		return err
	}
	defer func() { _ = w.close() }() // the connection was only read, so Close cannot lose data
	id, err := w.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	tables, err := w.number("SELECT count(*) FROM sqlite_schema WHERE type='table' AND name IN ('settings', 'orders')")
	if err != nil {
		return err
	}
	if id != applicationID && id != 0 || tables != 2 {
		return foreign(FileName)
	}
	if err := checkVersion(w); err != nil {
		return err
	}
	lacking, err := w.first("VALUES('contents'),('definitions'),('ledger'),('messages'),('probe') " +
		"EXCEPT SELECT name FROM sqlite_schema")
	if err == nil && lacking != nil {
		err = fmt.Errorf("%w: it lacks the table %s", ErrDamaged, lacking[0])
	}
	if err != nil {
		return err
	}
	unclean, err := w.number("SELECT coalesce((SELECT value FROM settings WHERE name='running'), -1)")
	if err != nil {
		return err
	}
	return checkSequence(w, file, f, unclean == 1)
}

// readOnly is the setting of a connection that changes neither the file nor its log.
const readOnly = "&mode=ro"

// source returns the name of the file, for reading before it is admitted.
func (f found) source(file string) string {
	from := source(file, 1<<20) + readOnly
	if !f.log {
		from += "&immutable=1" // immutable keeps SQLite from creating an empty log
	}
	return from
}

func useLog(w *writer) error {
	mode, err := w.first("PRAGMA journal_mode=wal")
	if err == nil && (len(mode) == 0 || mode[0] != "wal") {
		err = fmt.Errorf(
			"the write-ahead log cannot be used here, SQLite answers %q; choose a folder on a local disk",
			mode)
	}
	return err
}

// mark stores in the database file that a process has opened the file. If the process is killed, the mark
// stays. If the write-ahead log and the file sequenceName are then lost, the next process refuses the file.
//
// The last commit before a clean end removes the mark. SQLite then moves this commit from the log into the
// file.
func (s *Store) mark(w *writer) error {
	if err := w.run(
		"UPDATE settings SET value=1 WHERE name='running'; DELETE FROM probe; PRAGMA " +
			"wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	s.marked = true
	return nil
}

// unmark removes the mark. If it cannot, for example because the disk is full, unmark makes SQLite keep the
// log. Otherwise SQLite would delete the log. The next process could then refuse the file, because the file
// is marked and has no log.
func (s *Store) unmark(w *writer) error {
	if !s.marked {
		return nil
	}
	if err := w.run("UPDATE settings SET value=0 WHERE name='running'"); err != nil {
		_, keeping := w.conn.(engine.FileControl).FileControlPersistWAL("main", 1)
		return errors.Join(s.explained(err), keeping)
	}
	return nil
}
