package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	database = "stepkeeper.db"
	writeLog = "stepkeeper.db-wal"

	commitNumber = "stepkeeper.commits"
)

// killed returns a folder as a process that ended without closing it leaves it, with n tasks.
func killed(t *testing.T, n int) (folder string) {
	t.Helper()
	running := t.TempDir()
	closed(t, filled(t, running, n))
	s := open(t, running, sqlite.Options{}) // the tasks are in the file, what comes now in the log
	defer closed(t, s)
	must(t, s.Commit(t.Context(), []port.Write{creation("newest")}))
	folder = t.TempDir()
	for _, name := range []string{database, writeLog, commitNumber} {
		data, err := os.ReadFile(filepath.Join(running, name))
		require.NoError(t, err)
		write(t, filepath.Join(folder, name), data)
	}
	return folder
}

func filled(t *testing.T, folder string, n int) *sqlite.Store {
	t.Helper()
	s := open(t, folder, sqlite.Options{Heads: -1})
	for i := range n {
		w := creation(fmt.Sprintf("task-%d", i))
		w.Record.Document = []byte(strings.Repeat("x", 3000))
		must(t, s.Commit(t.Context(), []port.Write{w}))
	}
	return s
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, data, 0o600))
}

// spoil overwrites the last third of the file.
func spoil(t *testing.T, folder string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(folder, database), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	from := info.Size() / 3 * 2
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size()-from))), from)
	require.NoError(t, err)
}

// refused opens the folder in vain, and leaves its files as they were.
func refused(t *testing.T, folder string, want ...string) error {
	t.Helper()
	before, _ := os.ReadFile(filepath.Join(folder, database))
	names := entries(t, folder)
	s, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
	if err == nil {
		closed(t, s)
		t.Fatal("it was opened")
	}
	require.Equal(t, names, entries(t, folder))
	for _, text := range append(want, folder) {
		require.ErrorContains(t, err, text)
	}
	after, _ := os.ReadFile(filepath.Join(folder, database))
	require.Equal(t, string(before), string(after))
	return err
}

// entries returns the names in the folder, without that of the index that each reader of a log makes.
func entries(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range all {
		names = append(names, e.Name())
	}
	if slices.Contains(names, writeLog) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == database+"-shm" })
	}
	return names
}

func TestAfterAKillTheNewestIsThere(t *testing.T) {
	s := open(t, killed(t, 3), sqlite.Options{})
	defer closed(t, s)
	stored(t, s, map[string]bool{"task-0": true, "newest": true})
}

// TestDamagedFileIsRefused after a kill, before orders are taken.
func TestDamagedFileIsRefused(t *testing.T) {
	folder := killed(t, 100)
	spoil(t, folder)
	require.ErrorIs(t, refused(t, folder, "damaged", "backup", ".recover"), sqlite.ErrDamaged)
}

// TestDamageFoundLaterEndsReadiness: a clean end is followed by no check; what is read then reports.
func TestDamageFoundLaterEndsReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		closed(t, filled(t, folder, 1000)) // more than the pages that readers keep
		s := open(t, folder, sqlite.Options{Heads: -1})
		defer func() { _ = s.Close() }()
		require.NoError(t, s.Probe())
		spoil(t, folder)
		var found error
		for i := 0; i < 1000 && found == nil; i++ {
			_, errs := s.Load(t.Context(), []string{fmt.Sprintf("task-%d", i)})
			found = errs[0]
		}
		require.ErrorIs(t, found, sqlite.ErrDamaged)
		require.ErrorContains(t, found, "backup")
		page, err := s.List(t.Context(), port.Query{State: "Error", Limit: 10}) // its part of the index is whole
		require.Empty(t, page.Records)
		require.ErrorIs(t, err, sqlite.ErrDamaged)
		var verdict error
		for end := time.Now().Add(10 * time.Second); verdict == nil &&
			time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			verdict = s.Probe()
		}
		require.ErrorIs(t, verdict, sqlite.ErrDamaged)
	})
}

// withoutNumber is killed for a folder without the number of the last commit, as an older program left it.
func withoutNumber(t *testing.T, n int) (folder string) {
	t.Helper()
	folder = killed(t, n)
	require.NoError(t, os.Remove(filepath.Join(folder, commitNumber)))
	return folder
}

// TestLostCommitsAreNoticed cuts and damages a log at each of its frames after a kill. SQLite drops the rest
// of the log without an error.
func TestLostCommitsAreNoticed(t *testing.T) {
	running := t.TempDir()
	closed(t, filled(t, running, 1))
	s := open(t, running, sqlite.Options{})
	for i := range 5 {
		must(t, s.Commit(t.Context(), []port.Write{creation(fmt.Sprint("newest-", i))}))
	}
	files := map[string][]byte{}
	for _, name := range []string{database, writeLog, commitNumber} {
		data, err := os.ReadFile(filepath.Join(running, name))
		require.NoError(t, err)
		files[name] = data
	}
	closed(t, s)
	const header, frame = 32, 4096 + 24
	log := files[writeLog]
	for at := 0; at < len(log); at = max(header, at+frame) {
		flipped := slices.Clone(log)
		flipped[at+min(10, len(log)-at-1)] ^= 0x10
		for _, damaged := range [][]byte{log[:at], flipped} {
			folder := t.TempDir()
			for name, data := range files {
				write(t, filepath.Join(folder, name), data)
			}
			write(t, filepath.Join(folder, writeLog), damaged)
			refused(t, folder, "lacks the newest", "orders that were acknowledged", "restore a backup",
				"remove stepkeeper.commits")
			write(t, filepath.Join(folder, writeLog), log) // nothing was changed
			s := open(t, folder, sqlite.Options{})
			stored(t, s, map[string]bool{"task-0": true, "newest-4": true})
			closed(t, s)
		}
	}
}

// TestAnOlderCopyIsNoticed, and can be accepted as the refusal says.
func TestAnOlderCopyIsNoticed(t *testing.T) {
	folder := t.TempDir()
	closed(t, filled(t, folder, 1))
	older, err := os.ReadFile(filepath.Join(folder, database))
	require.NoError(t, err)
	s := open(t, folder, sqlite.Options{})
	must(t, s.Commit(t.Context(), []port.Write{creation("newest")}))
	closed(t, s)
	write(t, filepath.Join(folder, database), older)
	refused(t, folder, "lacks the newest 1 of 2 commits", "older copy")
	require.NoError(t, os.Remove(filepath.Join(folder, commitNumber)))
	closed(t, open(t, folder, sqlite.Options{}))
}

// TestAWholeFileIsNotRefusedForItsMark: without the log, the number of the last commit shows that nothing is
// missing.
func TestAWholeFileIsNotRefusedForItsMark(t *testing.T) {
	folder := t.TempDir()
	closed(t, filled(t, folder, 1))
	run(t, folder, "UPDATE settings SET value=1 WHERE name='running'")
	s := open(t, folder, sqlite.Options{})
	defer closed(t, s)
	stored(t, s, map[string]bool{"task-0": true})
}

// misplaced makes a folder whose index of orders has a page twice, in the place of another. SQLite reads it
// without an error and does not find the orders of the other page.
func misplaced(t *testing.T, n int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	s := filled(t, folder, n)
	leaves, err := s.Leaves("sqlite_autoindex_orders_1")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(leaves), 2)
	closed(t, s)
	data, err := os.ReadFile(filepath.Join(folder, database))
	require.NoError(t, err)
	page := func(n int) []byte { return data[(n-1)*4096 : n*4096] }
	copy(page(leaves[0]), page(leaves[1]))
	write(t, filepath.Join(folder, database), data)
	return folder
}

// TestMisplacedPageIsNoticed after a clean end, too.
func TestMisplacedPageIsNoticed(t *testing.T) {
	require.ErrorIs(t, refused(t, misplaced(t, 400), "damaged", "restore a backup"), sqlite.ErrDamaged)
}

// TestNothingIsWrittenToADamagedFile that is open for reading.
func TestNothingIsWrittenToADamagedFile(t *testing.T) {
	folder := misplaced(t, 400)
	before, err := os.ReadFile(filepath.Join(folder, database))
	require.NoError(t, err)
	s, err := sqlite.OpenForReading(t.Context(), folder, sqlite.Options{})
	require.NoError(t, err)
	require.ErrorIs(t, s.Commit(t.Context(), []port.Write{creation("new")})[0], sqlite.ErrDamaged)
	require.ErrorIs(t, s.Writable(t.Context()), sqlite.ErrDamaged)
	closed(t, s)
	after, err := os.ReadFile(filepath.Join(folder, database))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// TestACheckThatTakesTooLongGoesOn behind the start. What it finds ends readiness, and an order that is not
// found does not count as unknown any more.
func TestACheckThatTakesTooLongGoesOn(t *testing.T) {
	folder := misplaced(t, 400)
	s := open(t, folder, sqlite.ShortCheck(sqlite.Options{Heads: -1}))
	require.False(t, s.Checked(), "the file counts as checked")
	becomes(t, s, "damaged", func(err error) bool { return errors.Is(err, sqlite.ErrDamaged) })
	hidden := 0
	for i := range 400 {
		id := fmt.Sprint("task-", i)
		r, errs := s.Load(t.Context(), []string{id})
		_, err := s.Content(t.Context(), id, "hash")
		if r[0] == nil && !errors.Is(errs[0], sqlite.ErrDamaged) || err != nil &&
			!errors.Is(err, sqlite.ErrDamaged) {
			t.Fatalf("%s: %+v, %v; its order: %v", id, r, errs, err)
		}
		if err != nil {
			hidden++
		}
	}
	require.NotZero(t, hidden)
	closed(t, s)
	s = open(t, t.TempDir(), sqlite.ShortCheck(sqlite.Options{}))
	closed(t, s)
	folder = t.TempDir()
	closed(t, filled(t, folder, 10))
	s = open(t, folder, sqlite.Options{})
	defer closed(t, s)
	require.True(t, s.Checked(), "a small file was not checked as a whole")
}

// TestMissingLogIsNoticed: what it held was acknowledged.
func TestMissingLogIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := withoutNumber(t, 3)
		log := filepath.Join(folder, writeLog)
		data, err := os.ReadFile(log)
		require.NoError(t, err)
		require.NoError(t, os.Remove(log))
		refused(t, folder, "stepkeeper.db-wal is missing", "backup", "create an empty file")
		refused(t, folder, "stepkeeper.db-wal is missing") // still
		write(t, log, data)
		s := open(t, folder, sqlite.Options{})
		stored(t, s, map[string]bool{"task-0": true, "newest": true})
		closed(t, s)
		closed(t, open(t, folder, sqlite.Options{})) // after a clean end there is no log
		_, err = os.Stat(log)
		require.ErrorIs(t, err, os.ErrNotExist, "after a clean end the log is there")
	})
}

// TestMissingLogCanBeGivenUp, as the refusal says.
func TestMissingLogCanBeGivenUp(t *testing.T) {
	folder := withoutNumber(t, 3)
	write(t, filepath.Join(folder, writeLog), nil)
	s := open(t, folder, sqlite.Options{})
	defer closed(t, s)
	stored(t, s, map[string]bool{"task-0": true}, "newest")
}

func TestFileThatIsNotOursIsRefused(t *testing.T) {
	file := func(text string) func(*testing.T, string) {
		return func(t *testing.T, folder string) { write(t, filepath.Join(folder, database), []byte(text)) }
	}
	script := func(text string) func(*testing.T, string) {
		return func(t *testing.T, folder string) { run(t, folder, text) }
	}
	for name, c := range map[string]struct {
		make func(*testing.T, string)
		want string
	}{
		"empty":  {file(""), "is empty"},
		"a text": {file("hello"), "not a database"},
		"a folder": {func(t *testing.T, folder string) {
			mkdir(t,
				filepath.Join(folder, database))
		}, "a directory"},
		"a link": {func(t *testing.T, folder string) {
			elsewhere := t.TempDir()
			closed(t, open(t, elsewhere, sqlite.Options{}))
			require.NoError(t, os.Symlink(filepath.Join(elsewhere, database), filepath.Join(folder, database)))
		}, "stepkeeper.db: it is a link"},
		"one of two names": {func(t *testing.T, folder string) {
			closed(t, open(t, folder, sqlite.Options{}))
			other := filepath.Join(t.TempDir(), database)
			require.NoError(t, os.Link(filepath.Join(folder, database), other))
		}, "other names"},
		"rescued in part": {func(t *testing.T, folder string) {
			closed(t, open(t, folder, sqlite.Options{}))
			run(t, folder, "DROP TABLE ledger")
		}, "it lacks the table ledger"},
		"a folder for the index of the log": {func(t *testing.T, folder string) {
			closed(t, open(t, folder, sqlite.Options{}))
			mkdir(t, filepath.Join(folder, database+"-shm"))
		}, "stepkeeper.db-shm: it is a directory"},
		"a journal of another program": {func(t *testing.T, folder string) {
			closed(t, open(t, folder, sqlite.Options{}))
			write(t, filepath.Join(folder, database+"-journal"), []byte("journal"))
		}, "let sqlite3 undo the change"},
		"the log alone": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, writeLog), []byte("log"))
		}, "stepkeeper.db is missing"},
		"tables of another program": {script("CREATE TABLE settings(a)"), "another program"},
		"no tables":                 {script("PRAGMA user_version=1"), "another program"},
		"the number of another": {
			script("PRAGMA application_id=7; CREATE TABLE settings(name, value); CREATE TABLE orders(a)"),
			"another program",
		},
		"cut off after the first page": {func(t *testing.T, folder string) {
			closed(t, filled(t, folder, 50))
			cut(t, folder)
		}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			c.make(t, folder)
			refused(t, folder, c.want)
		})
	}
}

func mkdir(t *testing.T, folder string) {
	t.Helper()
	require.NoError(t, os.Mkdir(folder, 0o700))
}

func cut(t *testing.T, folder string) {
	t.Helper()
	require.NoError(t, os.Truncate(filepath.Join(folder, database), 4096))
}

// TestNewFileIsMadeAsAWhole: what a process that was killed meanwhile left of one is no hindrance.
func TestNewFileIsMadeAsAWhole(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, database+".new"), []byte("half a file"))
	s := open(t, folder, sqlite.Options{})
	defer closed(t, s)
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	_, err := os.Stat(filepath.Join(folder, database+".new"))
	require.ErrorIs(t, err, fs.ErrNotExist, "the file was not made under its other name")
}

// TestProbeReportsWhetherWritesFindRoom, and when they do again.
func TestProbeReportsWhetherWritesFindRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir(), sqlite.Options{})
		defer closed(t, s)
		pages, err := s.Pages()
		require.NoError(t, err)
		require.NoError(t, s.LimitPages(pages+40))
		require.NoError(t, s.Probe(), "with room")
		for i, err := 0, error(nil); err == nil; i++ {
			w := creation(fmt.Sprint("task-", i))
			w.Record.Document = []byte(strings.Repeat("x", 5000))
			err = s.Commit(t.Context(), []port.Write{w})[0]
		}
		becomes(t, s, "full", func(err error) bool {
			return errors.Is(err, port.ErrUnavailable) && strings.Contains(err.Error(), "the disk is full")
		})
		require.NoError(t, s.LimitPages(1<<30))
		becomes(t, s, "with room again", func(err error) bool { return err == nil })
		n, err := s.Number("SELECT count(*) FROM probe")
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// becomes waits until the probe's verdict is so.
func becomes(t *testing.T, s *sqlite.Store, what string, ok func(error) bool) {
	t.Helper()
	verdict := s.Probe()
	for end := time.Now().Add(10 * time.Second); !ok(verdict) &&
		time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		verdict = s.Probe()
	}
	require.True(t, ok(verdict), "%s: the probe says %v", what, verdict)
}

// TestProbesAreOneWrite: however many ask.
func TestProbesAreOneWrite(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	release := s.Hold()
	var asked sync.WaitGroup
	for range 50 {
		asked.Go(func() {
			if err := s.Probe(); err != nil {
				t.Errorf("probe: %v", err)
			}
		})
	}
	for s.Pending() == 0 {
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, 1, s.Pending())
	release()
	asked.Wait()
}

// TestProbeOfAStoreThatIsStuck: a disk that does not answer is no readiness.
func TestProbeOfAStoreThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir(), sqlite.Options{})
		defer closed(t, s)
		release := s.Hold()
		defer release()
		require.ErrorContains(t, s.Probe(), "longer than")
	})
}
