package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// FileName is the name of the database in the data folder. The lock is on the folder, so that it holds even
// if a user removes the file.
const FileName = "stepkeeper.db"

// lockName is the name of the file that is locked on Windows, which cannot lock a folder.
const lockName = "stepkeeper.lock"

// walPages is a setting of the writer. SQLite moves the pages of the write-ahead log into the database file
// when the log has 2,000 pages of 4 KiB. With a larger number, SQLite copies a frequently changed page less
// often, but each pause of the writer is longer. With 8,000 pages, the longest pause is several times as
// long.
const walPages = "wal_autocheckpoint(2000)"

const (
	shards     = 16 // shards of the due index; a change would make the rows of existing files wrong
	maxReaders = 4  // largest number of read connections
)

// pageBytes is the size of the writer's page cache, in bytes. A larger cache makes most commits slower,
// because SQLite searches the whole cache for pages with temporary numbers. SQLite assigns these numbers
// while it balances an index. With 4 MB, this search takes about 5 % of the processor time of an order. The
// cache must hold the pages of a group of writes, or SQLite writes them twice.
const pageBytes = 2 << 20

// ErrLocked means that another process uses the data folder.
var ErrLocked = errors.New("data folder in use")

// ErrDamaged means that the database file was changed or damaged after SQLite wrote it.
var ErrDamaged = port.ErrStoreDamaged

// Options configures a store.
type Options struct {
	// Heads is the number of running tasks in the cache of the committer. 0 means 10,000, and a negative
	// value means no cache.
	Heads   int
	Keep    time.Duration // time for which a task at rest is kept, see Expire; 0 means for ever
	Log     *slog.Logger  // nil means the default logger
	Clock   port.Timer    // clock for the queues and for Keep; nil means the system clock
	Queues  []QueueConfig
	ReplyTo []string // queues that an order may name as its reply-to
	// Committed is called after each commit, with the number of operations and the duration. nil means no
	// call.
	Committed func(writes int, took time.Duration)

	checkTime time.Duration // time limit of the check in tests; 0 means the constant checkTime
}

func (o Options) withDefaults() Options {
	o.Heads = cmp.Or(o.Heads, 10_000)
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Clock = cmp.Or[port.Timer](o.Clock, port.ClockFunc(time.Now))
	return o
}

// Store implements port.Store, port.Definitions and port.Ledger with one SQLite file. An update of a record
// does not change Workflow and Created. A Store is safe for concurrent use.
type Store struct {
	keep      time.Duration
	clock     port.Timer
	log       *slog.Logger
	lock      *flock.Flock
	readers   *sql.DB
	reads     sync.Map // prepared queries, as *sql.Stmt by their text
	committer *committer
	queues    *Queues
	marked    bool // the file is marked as open (see the method mark)
	damage    atomic.Pointer[error]
	probing   probing
	checking  checking
	opened    []opened
	setAside  setAside
	unlogged  string // file that had no log before it was opened; "" if it had one
}

// Open opens the store in a data folder. It creates the folder if the folder does not exist. It returns
// ErrLocked if another process has the folder open. The caller must call Close at the end.
func Open(ctx context.Context, folder string, options Options) (*Store, error) {
	s, err := OpenForReading(ctx, folder, options)
	if err != nil {
		return nil, err
	}
	if err := s.Writable(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenForReading is Open, but returns before the check of the file has ended. Until then, the store can be read, and
// all writes wait. If the check finds damage, or the file cannot be written, each write has this error, see Writable.
func OpenForReading(ctx context.Context, folder string, options Options) (*Store, error) {
	o := options.withDefaults()
	if o.Keep != 0 && o.Keep < MinKeep {
		return nil,
			fmt.Errorf(
				"opening %s: tasks cannot be kept for %s only: requests and orders may be in queues for "+
					"up to %s", folder, o.Keep, MinKeep)
	}
	lock, err := lockFolder(folder)
	if err != nil {
		return nil, err
	}
	s := &Store{
		keep: o.Keep, clock: o.Clock, log: o.Log, lock: lock,
		checking: checking{limit: o.checkTime},
	}
	if err := s.open(ctx, filepath.Join(folder, FileName), o); err != nil {
		return nil, errors.Join(s.notOpened(folder, err), s.Close())
	}
	return s, nil
}

func (s *Store) notOpened(folder string, err error) error {
	return fmt.Errorf("opening the store in %s: %w", folder, s.explained(err))
}

func lockFolder(folder string) (*flock.Flock, error) {
	const advice = "give the user that runs this the right to write there, or choose another folder"
	switch err := os.MkdirAll(folder, 0o700); {
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("data folder %s cannot be made: %w; a file has its name, choose another folder", folder,
			err)
	case err != nil:
		return nil, fmt.Errorf("data folder %s cannot be made: %w; %s", folder, err, advice)
	}
	lock := flock.New(folder, flock.SetFlag(os.O_RDONLY))
	if runtime.GOOS == "windows" {
		lock = flock.New(filepath.Join(folder, lockName))
	}
	got, err := lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return nil, fmt.Errorf("data folder %s cannot be written: %w; %s", folder, err, advice)
	case err != nil:
		return nil, fmt.Errorf("locking data folder %s: %w", folder, err)
	case !got:
		return nil, fmt.Errorf("%w: another process is running on %s; stop it, or choose another folder",
			ErrLocked, folder)
	}
	return lock, nil
}

func (s *Store) open(ctx context.Context, file string, o Options) error {
	found, err := inspect(file)
	if err != nil {
		return err
	}
	if !found.log {
		s.unlogged = file
	}
	if found.file {
		err = errors.Join(protect(file), admit(file, found))
	} else {
		err = create(file)
	}
	if err != nil {
		return err
	}
	s.readers, err = sql.Open("sqlite", source(file, 2<<20, "query_only(1)")+readOnly)
	if err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(maxReaders)
	s.readers.SetMaxIdleConns(maxReaders)
	_, err = s.prepared(ctx, dueQuery) // it reads the schema, so a file that cannot be read is refused before a write
	if err != nil {
		return err
	}
	s.committer = &committer{store: s, reported: o.Committed, heads: newHeads(o.Heads), writable: make(chan struct{})}
	checking, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.checking.stop = stop
	s.checking.ended.Go(func() {
		_ = port.Guard(nil, "the check of the file", func() error { return s.checkAndWrite(checking, file, found) })
	})
	return s.makeQueues(o)
}

// checkAndWrite checks the file, and opens it for writing.
func (s *Store) checkAndWrite(ctx context.Context, file string, f found) error {
	c := s.committer
	err := port.Guard(nil, "opening the file", func() error {
		s.checking.whole = !f.file
		if f.file {
			if err := s.checking.atStart(ctx, f.source(file)); err != nil {
				return err
			}
		}
		return s.openForWriting(file)
	})
	if err != nil {
		c.refused = s.notOpened(filepath.Dir(file), err)
	}
	close(c.writable)
	if err != nil {
		return err
	}
	return s.goOn(ctx)
}

func (s *Store) openForWriting(file string) error {
	w, err := openWriter(source(file, pageBytes, "synchronous(full)", walPages,
		"journal_size_limit(67108864)"))
	if err != nil {
		return err
	}
	s.committer.writer = w
	count := func(w *writer) error { return s.committer.sequence.open(w, file) }
	for _, step := range []func(*writer) error{useLog, makeTables, s.mark, count} {
		if err := step(w); err != nil {
			return err
		}
	}
	s.opened, err = identify(file, file+"-wal")
	return err
}

// Writable waits until the file is checked and open for writing. It returns the error of Open, or of ctx.
func (s *Store) Writable(ctx context.Context) error { return s.committer.opened(ctx) }

// source returns the name of the file for the driver, with the settings of a connection.
func source(file string, pageBytes int, pragmas ...string) string {
	pragmas = append(pragmas, "busy_timeout(10000)", fmt.Sprintf("cache_size(-%d)", pageBytes>>10),
		"temp_store(memory)")
	u := url.URL{
		Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(),
		RawQuery: url.Values{"_pragma": pragmas}.Encode(),
	}
	return u.String()
}

// Close commits the waiting writes and unlocks the folder. Later writes fail. It returns an error if the files were
// removed, moved or replaced meanwhile.
func (s *Store) Close() error {
	var errs []error
	s.checking.end()
	if s.committer != nil {
		s.committer.stop()
	}
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.committer != nil && s.committer.writer != nil {
		errs = append(errs, s.present(), s.unmark(s.committer.writer), s.committer.writer.close(),
			s.committer.sequence.close())
	}
	s.removeEmptyLog()
	return errors.Join(append(errs, s.lock.Unlock())...)
}

// removeEmptyLog removes the empty log that the readers have made, if the file was then refused.
func (s *Store) removeEmptyLog() {
	info, err := os.Stat(s.unlogged + "-wal")
	if s.unlogged != "" && err == nil && info.Size() == 0 {
		_ = os.Remove(s.unlogged + "-wal") // an empty log does no harm if it stays
		_ = os.Remove(s.unlogged + "-shm")
	}
}

// Shards returns the number of shards of the due index.
func (s *Store) Shards() int { return shards }

// Queues returns the queues of the store.
func (s *Store) Queues() *Queues { return s.queues }
