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
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
}

func closed(t *testing.T, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReopenedStoreHoldsEverything(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "there", "yet ?#%41")
	queues := sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "status"}}}
	s := open(t, folder, queues)
	must(t, s.Commit(t.Context(), []port.Write{creation("a"), creation("b")}))
	must(t, s.Commit(t.Context(), []port.Write{replacement("a", 1)}))
	if err := s.PutDefinition(t.Context(), core.DefinitionHash([]byte("{}")), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := s.Move(t.Context(), port.LedgerEntry{Key: "k", State: "started"}); err != nil {
		t.Fatal(err)
	}
	q, err := s.Queues().Queue("status")
	if err != nil {
		t.Fatal(err)
	}
	must(t, q.Send(t.Context(), []port.Message{{Body: []byte("reported")}}))
	closed(t, s)

	s = open(t, folder, queues)
	defer closed(t, s)
	records, errs := s.Load(t.Context(), []string{"a", "b"})
	if err := errors.Join(errs...); err != nil || records[0] == nil || records[0].Version != 2 ||
		records[1] == nil || records[1].Version != 1 {
		t.Errorf("tasks are %+v, %v", records, errs)
	}
	if _, err := s.Content(t.Context(), "b", "hash"); err != nil {
		t.Error(err)
	}
	if _, err := s.Definition(t.Context(), core.DefinitionHash([]byte("{}"))); err != nil {
		t.Error(err)
	}
	if e, err := s.Entry(t.Context(), "k"); err != nil || e.Version != 1 {
		t.Errorf("entry is %+v, %v", e, err)
	}
	q, err = s.Queues().Queue("status")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := q.Receive(t.Context(), 10, 0, time.Minute); err != nil || len(got) != 1 ||
		string(got[0].Body) != "reported" {
		t.Errorf("received %+v, %v", got, err)
	}
	must(t, s.Commit(t.Context(), []port.Write{replacement("a", 2)}))
}

func TestSecondStoreOnAFolderIsRefused(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	second, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
	if !errors.Is(err, sqlite.ErrLocked) || second != nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("error is %v, want %v naming the folder", err, sqlite.ErrLocked)
	}
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	closed(t, s)
	closed(t, open(t, folder, sqlite.Options{}))
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "stepkeeper.db"),
		[]byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := sqlite.UseLog(); err == nil ||
		!strings.Contains(err.Error(), "choose a folder on a local disk") {
		t.Error(err)
	}
}

func TestNewerFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	if err := s.Script("PRAGMA user_version=99"); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	if _, err := sqlite.Open(t.Context(), folder, sqlite.Options{}); err == nil ||
		!strings.Contains(err.Error(), "newer program") {
		t.Errorf("error is %v", err)
	}
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
	if err := s.Commit(t.Context(), []port.Write{creation("late")})[0]; !errors.Is(err, port.ErrUnavailable) {
		t.Errorf("error is %v, want %v", err, port.ErrUnavailable)
	}
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
	if _, err := s.List(t.Context(), port.Query{Limit: 1}); err != nil {
		t.Fatal(err)
	}
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
		if got, err := s.Setting(name); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", name, got, err, want)
		}
	}
}

// TestLockHoldsWithoutFiles: removing what is beside the database lets no second process in.
func TestLockHoldsWithoutFiles(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	defer closed(t, s)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "stepkeeper.db") {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := sqlite.Open(t.Context(), folder, sqlite.Options{}); !errors.Is(err, sqlite.ErrLocked) {
		t.Errorf("error is %v, want %v", err, sqlite.ErrLocked)
	}
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
		if err != nil || len(entries) < 4 {
			t.Fatalf("%v, %v", entries, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v (%v), want 0600", e.Name(), info.Mode(), err)
			}
		}
	}
	private()
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v (%v), want 0700", info.Mode(), err)
	}
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
