package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Backup writes a copy of the store in a data folder to a new file, and returns the size of the copy. The
// copy shows the store at one moment. Backup does not interrupt a process that has the folder open, because
// it reads in one transaction of a read-only connection.
//
// The copy appears under its name only when it is complete, checked and on the disk. In a new folder, with
// the name FileName, the copy opens like a file that was closed cleanly.
//
// companions are the names of other files that belong to the folder, whether they exist or not. The error is
// fs.ErrInvalid if the new file is one of them, or if the store itself uses it, and fs.ErrExist if it exists.
func Backup(ctx context.Context, folder, to string, companions ...string) (bytes int64, err error) {
	if err := apart(folder, to, companions); err != nil {
		return 0, err
	}
	if _, err := os.Lstat(to); err == nil {
		return 0, fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	part, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.part") // CreateTemp sets mode 0600
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = part.Close() // Close fails if the file is already closed, which is the usual case
		_ = os.Remove(part.Name())
		_ = os.Remove(part.Name() + "-journal")
	}()
	unfinished, err := filepath.Abs(part.Name())
	if err != nil {
		return 0, err
	}
	// The copy must contain all commits up to the number answered. Therefore the number is read before the
	// copy.
	answered := lastAnswered(filepath.Join(folder, FileName))
	if err := copyInto(ctx, folder, unfinished); err != nil {
		return 0, err
	}
	if err := finish(ctx, unfinished, answered); err != nil {
		return 0, err
	}
	info, err := part.Stat()
	err = errors.Join(err, part.Sync(), part.Close())
	if err != nil {
		return 0, err
	}
	return info.Size(), appear(unfinished, to)
}

// apart refuses a file that the store in a folder uses, whatever the spelling of its name. The file need not exist.
func apart(folder, to string, companions []string) error {
	if !sameFile(folder, filepath.Dir(to)) {
		return nil
	}
	for _, name := range slices.Concat(names(FileName), []string{lockName}, companions) {
		if strings.EqualFold(name, filepath.Base(to)) { // some file systems ignore the case
			return fmt.Errorf("%s is a file of the store in %s itself: %w", to, folder, fs.ErrInvalid)
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func copyInto(ctx context.Context, folder, to string) error {
	from, done, err := readable(ctx, folder)
	if err != nil {
		return err
	}
	defer done()
	db, err := sql.Open("sqlite", from)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // the connection was only read, so Close cannot lose data
	var id int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id != applicationID {
		return foreign(FileName)
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// readable returns the source of a read-only connection to the database in a folder. If there is no
// write-ahead log, readable locks the folder, because the connection would not see the writes of another
// process. The function done unlocks the folder.
func readable(ctx context.Context, folder string) (from string, done func(), err error) {
	file := filepath.Join(folder, FileName)
	for {
		found, err := inspect(file)
		switch {
		case err != nil:
			return "", nil, err
		case !found.file:
			return "", nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
		case found.log:
			return found.source(file), func() {}, nil
		}
		lock, err := lockFolder(folder)
		if errors.Is(err, ErrLocked) { // the other process will soon create a log
			if err := port.Sleep(ctx, 10*time.Millisecond); err != nil {
				return "", nil, err
			}
			continue
		}
		if err != nil {
			return "", nil, err
		}
		return found.source(file), func() { _ = lock.Unlock() }, nil
	}
}

// finish removes the mark of a running process from the copy, and checks the copy.
func finish(ctx context.Context, file string, answered int64) error {
	db, err := sql.Open("sqlite", source(file, 1<<20, "synchronous(full)"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, "UPDATE settings SET value=0 WHERE name='running'"); err != nil {
		return err
	}
	if err := check(ctx, db); err != nil {
		return err
	}
	var stored int64
	err = db.QueryRowContext(ctx,
		"SELECT coalesce((SELECT value FROM settings WHERE name='commits'), 0)").Scan(&stored)
	if err == nil && answered > stored {
		err = fmt.Errorf(lostCommits, FileName, answered-stored, answered, sequenceName)
	}
	return err
}

// appear gives a complete file its final name. If the file system has hard links, appear does not replace an
// existing file.
func appear(unfinished, to string) error {
	err := os.Link(unfinished, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // the file system has no hard links
		err = os.Rename(unfinished, to)
	}
	if err != nil || runtime.GOOS == "windows" { // Windows cannot flush a folder
		return err
	}
	folder, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
