package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// FileName is the database in the data folder. The lock is on the folder, so that it holds even if files are
// removed.
const FileName = "stepkeeper.db"

// walPages is the number of pages (4 KiB each) after which the committer moves them from the WAL into the
// database file. A larger number makes fewer copies of a page that changes often, and a longer pause each
// time. At 8,000 the longest pause is several times as long.
const walPages = "wal_autocheckpoint(2000)"

const (
	shards     = 16 // number of shards of the due index; the rows of existing files depend on it
	maxReaders = 4  // limit of connections that read
)

// pageBytes is the memory of the writer for SQLite's pages, in bytes. SQLite visits each of them in most
// commits, because the balance of an index makes it look for pages past the end of the file. So more memory
// makes a commit slower: 16 MB instead of 4 MB cost 3 µs for each order, even with 150,000 stored orders.
const pageBytes = 4 << 20

// ErrLocked means that another process uses the data folder.
var ErrLocked = errors.New("data folder in use")

// ErrDamaged means that the content of the database file is not what SQLite wrote.
var ErrDamaged = port.ErrStoreDamaged

// Options configures a store. A zero field means its default.
type Options struct {
	// running tasks whose heads are cached, so that a commit need not read them; default 10,000; below 0
	// means no cache
	Heads   int
	Keep    time.Duration // time that a task is kept once it is at rest, see Expire; 0 keeps it for ever
	Clock   port.Clock    // clock of the queues and of Keep; default the machine's
	Queues  []QueueConfig
	ReplyTo []string // queues that an order may name as its reply-to
	// Committed is called after each commit with the number of its writes and its duration. It may be nil.
	Committed func(writes int, took time.Duration)

	checkTime time.Duration // bound of the check at the start, for tests
}

func (o Options) withDefaults() Options {
	o.Heads = cmp.Or(o.Heads, 10_000)
	o.Clock = cmp.Or[port.Clock](o.Clock, port.ClockFunc(time.Now))
	return o
}

// Store implements port.Store, port.Definitions and port.Ledger on one SQLite file. Queues returns its
// queues. An update of a record does not change its Workflow and Created. It is safe for concurrent use.
type Store struct {
	keep      time.Duration
	clock     port.Clock
	lock      *flock.Flock
	readers   *sql.DB
	reads     reads
	committer *committer
	queues    *Queues
	marked    bool // the file is marked as open
	damage    atomic.Pointer[error]
	probing   probing
	checking  checking
}

// Open opens the store in a data folder, which it creates if it does not exist. It returns ErrLocked if
// another process has the folder open. Close the store at the end.
func Open(ctx context.Context, folder string, options Options) (*Store, error) {
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
	s := &Store{keep: o.Keep, clock: o.Clock, lock: lock, checking: checking{limit: o.checkTime}}
	if err := s.open(ctx, filepath.Join(folder, FileName), o); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %s: %w", folder, s.explained(err)),
			s.Close())
	}
	return s, nil
}

func lockFolder(folder string) (*flock.Flock, error) {
	const advice = "give the user that runs this the right to write there, or choose another folder"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("data folder %s cannot be made: %w; %s", folder, err, advice)
	}
	lock := flock.New(folder, flock.SetFlag(os.O_RDONLY))
	if runtime.GOOS == "windows" { // Windows cannot lock a folder
		lock = flock.New(filepath.Join(folder, "stepkeeper.lock"))
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
	if found.file {
		err = errors.Join(protect(file), s.checking.admit(ctx, file, found))
	} else {
		s.checking.whole = true
		err = create(file)
	}
	if err != nil {
		return err
	}
	w, err := openWriter(source(file, pageBytes, "synchronous(full)", walPages,
		"journal_size_limit(67108864)"))
	if err != nil {
		return err
	}
	s.committer = &committer{store: s, writer: w, reported: o.Committed, cache: newCache(o.Heads)}
	count := func(w *writer) error { return s.committer.sequence.open(w, file) }
	for _, step := range []func(*writer) error{useLog, makeTables, s.mark, (*writer).prepareAll, count} {
		if err := step(w); err != nil {
			return err
		}
	}
	if s.readers, err = sql.Open("sqlite", source(file, 2<<20, "query_only(1)")); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(maxReaders)
	s.readers.SetMaxIdleConns(maxReaders)
	if s.reads, err = prepareReads(ctx, s.readers); err != nil {
		return err
	}
	s.committer.start()
	s.goOn()
	return s.makeQueues(o)
}

// source returns the driver's name of the file, with the settings of one connection.
func source(file string, pageBytes int, pragmas ...string) string {
	pragmas = append(pragmas, "busy_timeout(10000)", fmt.Sprintf("cache_size(-%d)", pageBytes>>10),
		"temp_store(memory)")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(),
		RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}

// Close commits the waiting writes, refuses later ones, and unlocks the folder.
func (s *Store) Close() error {
	var errs []error
	if s.committer != nil {
		s.committer.stop()
	}
	s.checking.end()
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.committer != nil {
		errs = append(errs, s.unmark(s.committer.writer), s.committer.writer.close(),
			s.committer.sequence.close())
	}
	return errors.Join(append(errs, s.lock.Unlock())...)
}

// Shards returns the number of shards of the due index.
func (s *Store) Shards() int { return shards }

// Queues returns the durable queues.
func (s *Store) Queues() *Queues { return s.queues }
