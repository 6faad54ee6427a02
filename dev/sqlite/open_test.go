package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var created = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func creation(id string) port.Write {
	return port.Write{
		Record: port.Record{
			ID: id, Version: 1, State: "Processing", Workflow: "order", Created: created,
			Bucket: port.DueBucket, IndexAt: created.Add(time.Minute),
			Document: []byte(`{"id":"` + id + `"}`),
		},
		Hash: "hash", Apart: true, Content: []byte("{}"),
	}
}

func replacement(id string, expected int64) port.Write {
	w := creation(id)
	w.Content = nil
	w.Expected = expected
	w.Record.Version = expected + 1
	w.Record.Document = fmt.Appendf(nil, `{"id":%q,"version":%d}`, id, expected+1)
	return w
}

func must(t *testing.T, errs []error) {
	t.Helper()
	for i, err := range errs {
		require.NoError(t, err, "%+v", i)
	}
}

func closed(t *testing.T, s *sqlite.Store) {
	t.Helper()
	require.NoError(t, s.Close())
}

func TestReopenedStoreHoldsEverything(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "there", "yet ?#%41")
	queues := sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "status"}}}
	s := open(t, folder, queues)
	must(t, s.Commit(t.Context(), []port.Write{creation("a"), creation("b")}))
	must(t, s.Commit(t.Context(), []port.Write{replacement("a", 1)}))
	require.NoError(t, s.PutDefinition(t.Context(), core.DefinitionHash([]byte("{}")), []byte("{}")))
	require.NoError(t, s.Move(t.Context(), port.LedgerEntry{Key: "k", State: "started"}))
	q, err := s.Queues().Queue("status")
	require.NoError(t, err)
	must(t, q.Send(t.Context(), []port.Message{{Body: []byte("reported")}}))
	closed(t, s)

	s = open(t, folder, queues)
	defer closed(t, s)
	records, errs := s.Load(t.Context(), []string{"a", "b"})
	require.NoError(t, errors.Join(errs...))
	require.NotNil(t, records[0], "tasks are %+v, %v", records, errs)
	require.EqualValues(t, 2, records[0].Version)
	require.NotNil(t, records[1], "tasks are %+v, %v", records, errs)
	require.EqualValues(t, 1, records[1].Version)
	_, err = s.Content(t.Context(), "b", "hash")
	require.NoError(t, err)
	_, err = s.Definition(t.Context(), core.DefinitionHash([]byte("{}")))
	require.NoError(t, err)
	e, err := s.Entry(t.Context(), "k")
	require.NoError(t, err)
	require.EqualValues(t, 1, e.Version)
	q, err = s.Queues().Queue("status")
	require.NoError(t, err)
	got, err := q.Receive(t.Context(), 10, 0, time.Minute)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "reported", string(got[0].Body))
	must(t, s.Commit(t.Context(), []port.Write{replacement("a", 2)}))
}

func TestSecondStoreOnAFolderIsRefused(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	second, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
	require.ErrorIs(t, err, sqlite.ErrLocked)
	require.Nil(t, second)
	require.ErrorContains(t, err, folder)
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	closed(t, s)
	closed(t, open(t, folder, sqlite.Options{}))
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	broken := t.TempDir()
	err := os.WriteFile(filepath.Join(broken, "stepkeeper.db"),
		[]byte(strings.Repeat("not a database ", 1000)), 0o600)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		folder  string
		options sqlite.Options
		want    string
	}{
		"a file in place of the folder": {file, sqlite.Options{}, "a file has its name"},
		"another file in its place":     {broken, sqlite.Options{}, "not a database"},
		"a queue twice": {
			t.TempDir(),
			sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "a"}, {Name: "a"}}},
			"twice",
		},
		"a queue without a name": {
			t.TempDir(),
			sqlite.Options{Queues: []sqlite.QueueConfig{{}}},
			"without a name",
		},
		"a reply-to that is no queue": {t.TempDir(), sqlite.Options{ReplyTo: []string{"a"}}, "reply-to"},
		"a queue with a negative setting": {
			t.TempDir(),
			sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "a", Retention: -1}}},
			"negative",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sqlite.Open(t.Context(), c.folder, c.options)
			if err == nil || s != nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), c.folder) && name != "a file in place of the folder" {
				t.Fatalf("error is %v, want one with %q and the folder", err, c.want)
			}
			if name == "a file in place of the folder" || name == "another file in its place" {
				return
			}
			closed(t, open(t, c.folder, sqlite.Options{})) // it left the folder unlocked
		})
	}
}

// Without a write-ahead log the store does not open, because its readers would wait for its writer.
func TestPlaceWithoutAWriteAheadLogIsRefused(t *testing.T) {
	require.ErrorContains(t, sqlite.UseLog(), "choose a folder on a local disk")
}

func TestNewerFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	require.NoError(t, s.Script("PRAGMA user_version=99"))
	closed(t, s)
	_, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
	require.ErrorContains(t, err, "newer program")
}

func TestClosedStoreRefuses(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	results := make(chan error, 100)
	for i := range cap(results) {
		go func() { results <- s.Commit(context.Background(), []port.Write{creation(fmt.Sprint(i))})[0] }()
	}
	closed(t, s)
	for range cap(results) {
		if err := <-results; err != nil && !errors.Is(err, port.ErrUnavailable) {
			t.Errorf("error is %v, want success or %v", err, port.ErrUnavailable)
		}
	}
	require.ErrorIs(t, s.Commit(t.Context(), []port.Write{creation("late")})[0], port.ErrUnavailable)
}

// A read of a closed store says that the store is closed: its file is not damaged.
func TestReadsOfAClosedStore(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	closed(t, s)
	ctx := t.Context()
	_, loaded := s.Load(ctx, []string{"a"})
	_, states := s.States(ctx)
	_, content := s.Content(ctx, "a", "hash")
	_, ended := s.Ended(ctx, "a")
	_, due := s.Due(ctx, port.DueBucket, 0, created, nil, 1)
	_, listed := s.List(ctx, port.Query{Limit: 1})
	_, definition := s.Definition(ctx, "hash")
	_, entry := s.Entry(ctx, "key")
	for name, err := range map[string]error{
		"Load": loaded[0], "States": states, "Content": content, "Ended": ended,
		"Due": due, "List": listed, "Definition": definition, "Entry": entry,
	} {
		require.ErrorIs(t, err, port.ErrUnavailable, name)
		require.ErrorContains(t, err, "the store is closed", name)
		require.NotErrorIs(t, err, sqlite.ErrDamaged, name)
	}
}

func TestNothingRunsOnAfterClose(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := open(t, t.TempDir(), sqlite.Options{})
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	_, err := s.List(t.Context(), port.Query{Limit: 1})
	require.NoError(t, err)
	closed(t, s)
	goleak.VerifyNone(t, before)
}

// TestWriterWaitsForTheDisk: no test can pull the plug, so this one looks at what SQLite promises
// to do. 2 is FULL: the WAL is flushed before a commit is answered.
func TestWriterWaitsForTheDisk(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	for name, want := range map[string]int64{
		"synchronous": 2, "wal_autocheckpoint": 2000,
		"cache_size": -2048,
	} {
		got, err := s.Setting(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

// TestLockHoldsWithoutFiles: removing what is beside the database lets no second process in.
func TestLockHoldsWithoutFiles(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	defer closed(t, s)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "stepkeeper.db") {
			require.NoError(t, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	_, err = sqlite.Open(t.Context(), folder, sqlite.Options{})
	require.ErrorIs(t, err, sqlite.ErrLocked)
}

// TestOthersMayNotRead what is in the folder, also where an older program let them.
func TestOthersMayNotRead(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	private := func() {
		t.Helper()
		s := open(t, folder, sqlite.Options{})
		defer closed(t, s)
		must(t, s.Commit(t.Context(), []port.Write{creation(fmt.Sprint(time.Now().UnixNano()))}))
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(entries), 4)
		for _, e := range entries {
			info, err := e.Info()
			require.NoError(t, err)
			require.EqualValues(t, 0o600, info.Mode().Perm())
		}
	}
	private()
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	for _, name := range []string{"stepkeeper.db", "stepkeeper.db-wal", "stepkeeper.commits"} {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err != nil {
			write(t, file, nil)
		}
		if err := os.Chmod(file, 0o644); err != nil { //nolint:gosec // as an older program left it
			t.Fatal(err)
		}
	}
	private()
}
