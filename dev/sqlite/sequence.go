package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/regularfile"
)

// sequenceName is the name of the file that contains the number of the last commit. SQLite drops the rest of
// a damaged log without an error. The number in the file then shows that commits are missing.
//
// The committer writes the file after the commit is on the disk, and before the callers get their results. So
// the commit with this number is certainly stored. The file is not flushed, so after a power failure it may
// name an earlier commit.
const sequenceName = "stepkeeper.commits"

type sequence struct {
	file *os.File
	last int64 // number of the last commit
}

// lastAnswered returns the number in the file sequenceName. It returns -1 if the file is missing or
// unreadable.
func lastAnswered(file string) int64 {
	text, err := regularfile.Read(sequenceFile(file), 64)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func sequenceFile(file string) string { return filepath.Join(filepath.Dir(file), sequenceName) }

// checkSequence refuses a database that lacks acknowledged commits. If the file sequenceName is missing, it
// refuses a database that the last process did not close and that has no log.
func checkSequence(w *writer, file string, f found, unclean bool) error {
	stored, err := w.number("SELECT coalesce((SELECT value FROM settings WHERE name='commits'), 0)")
	if err != nil {
		return err
	}
	switch answered := lastAnswered(file); {
	case answered > stored:
		return fmt.Errorf(lostCommits, FileName, answered-stored, answered, sequenceName)
	case answered < 0 && unclean && !f.log:
		return fmt.Errorf(lostLog, FileName, sequenceName)
	}
	return nil
}

const (
	lostCommits = "%[1]s lacks the newest %[2]d of %[3]d commits: orders that were " +
		"acknowledged are missing, " +
		"because its write-ahead log %[1]s-wal is damaged or missing, or the file is an older copy. " +
		"Put back the file together with its log, or restore a backup into a new folder; " +
		"to go on with what %[1]s holds, remove %[4]s"
	lostLog = "the last process did not close the file, and its write-ahead log %[1]s-wal is missing: " +
		"orders that were acknowledged last may be lost. Put the log back beside %[1]s " +
		"(a copy needs both, and %[2]s), or restore a backup; " +
		"to go on with what %[1]s holds, create an empty file %[1]s-wal"
)

// open reads the number of the last commit from the database, and opens the file sequenceName.
func (q *sequence) open(w *writer, file string) (err error) {
	q.last, err = w.number("SELECT value FROM settings WHERE name='commits'")
	if err != nil {
		return err
	}
	q.file, err = os.OpenFile(sequenceFile(file), os.O_RDWR|os.O_CREATE, private)
	if err != nil {
		return err
	}
	q.answered()
	return nil
}

// answered writes the number of the last commit to the file sequenceName. If the write fails, the file
// contains a lower number, and some missing commits would not be detected.
func (q *sequence) answered() { _, _ = q.file.WriteAt(fmt.Appendf(nil, "%020d\n", q.last), 0) }

func (q *sequence) close() error {
	if q.file == nil {
		return nil
	}
	return q.file.Close()
}

// private is the mode of all files of the store. Other users of the machine must not read the data of orders.
const private fs.FileMode = 0o600

// names returns the names of all files that the store and SQLite use.
func names(file string) []string {
	all := []string{sequenceFile(file)}
	for _, end := range []string{"", "-wal", "-shm", "-journal", ".new", ".new-journal", ".new-wal", ".new-shm"} {
		all = append(all, file+end)
	}
	return all
}

// protect removes the permissions of other users from existing files. It skips a file whose mode it may not
// change.
func protect(file string) error {
	for _, name := range names(file) {
		err := os.Chmod(name, private)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}
