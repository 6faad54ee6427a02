package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// run executes a script on the file of a folder, as another program would.
func run(t *testing.T, folder, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, "stepkeeper.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
}

// versionOne makes a file as a program of schema version 1 left it.
func versionOne(t *testing.T) (folder string) {
	t.Helper()
	script, err := os.ReadFile("testdata/schema-1.sql")
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	run(t, folder, string(script))
	return folder
}

// TestFileOfVersionOneIsUpgraded: nothing of it is lost, and it becomes what a new file is.
func TestFileOfVersionOneIsUpgraded(t *testing.T) {
	folder := versionOne(t)
	options := sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "status-shop"}}}
	for range 2 { // upgraded, and opened again
		s := open(t, folder, options)
		records, errs := s.Load(t.Context(), []string{"running", "stopped", "done", "gone"})
		if errors.Join(errs...) != nil || records[0] == nil || records[1] == nil || records[2] == nil || records[3] != nil {
			t.Fatalf("tasks are %+v, %v", records, errs)
		}
		for i, want := range []port.Bucket{port.DueBucket, port.AttentionBucket, port.NoBucket} {
			if r := records[i]; r.Version != 2 || r.Bucket != want || r.IndexAt.IsZero() != (want == port.NoBucket) {
				t.Errorf("task %+v, want version 2 in bucket %q", r, want)
			}
		}
		if o, err := s.LoadOrder(t.Context(), "gone"); err != nil || o.ContentHash != "hash" {
			t.Errorf("the order of an expired task: %+v, %v", o, err)
		}
		if _, err := s.Definition(t.Context(), core.DefinitionHash([]byte("{}"))); err != nil {
			t.Error(err)
		}
		if e, err := s.Entry(t.Context(), "done/0/pay"); err != nil || e.State != "done" {
			t.Errorf("entry is %+v, %v", e, err)
		}
		if page, err := s.List(t.Context(), port.Query{Workflow: "order", Limit: 10}); err != nil || len(page.Records) != 3 {
			t.Errorf("listed by workflow: %+v, %v", page, err)
		}
		q, err := s.Queues().Queue("status-shop")
		if err != nil {
			t.Fatal(err)
		}
		if d, err := q.Depth(t.Context()); err != nil || d.Visible != 1 {
			t.Errorf("the queue holds %+v (%v), want a message", d, err)
		}
		closed(t, s)
	}
	s := open(t, folder, options)
	must(t, s.Commit(t.Context(), []port.Write{replacement("running", 2)}))
	upgraded, err := s.Schema()
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	s = open(t, t.TempDir(), options)
	defer closed(t, s)
	if fresh, err := s.Schema(); err != nil || fresh != upgraded {
		t.Errorf("the schema of an upgraded file differs from a new one's (%v):\n%s\n%s", err, upgraded, fresh)
	}
	for pragma, want := range map[string]int64{"application_id": 0x5374706b, "user_version": 3} {
		if got, err := s.Number("PRAGMA " + pragma); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", pragma, got, err, want)
		}
	}
}

// TestUpgradeThatIsCutOffIsRepeated: a version is reached as a whole or not at all.
func TestUpgradeThatIsCutOffIsRepeated(t *testing.T) {
	folder := versionOne(t)
	run(t, folder, "CREATE TABLE probe(other TEXT)") // in the way of a statement in the middle of the upgrade
	if _, err := sqlite.Open(t.Context(), folder, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "version 1 to 2") {
		t.Fatalf("error is %v, want one of the upgrade", err)
	}
	run(t, folder, "DROP TABLE probe")
	s := open(t, folder, sqlite.Options{})
	defer closed(t, s)
	if r, errs := s.Load(t.Context(), []string{"done"}); errs[0] != nil || r[0] == nil {
		t.Errorf("the task is %+v, %v", r, errs)
	}
}

// TestTasksOfAnUpgradedFileAreKeptFromTheUpgradeOn: when they came to rest is not known.
func TestTasksOfAnUpgradedFileAreKeptFromTheUpgradeOn(t *testing.T) {
	c := memory.NewClock(time.Now())
	s := open(t, versionOne(t), sqlite.Options{Clock: c, Keep: sqlite.MinKeep})
	defer closed(t, s)
	c.Advance(sqlite.MinKeep - time.Hour)
	if x, err := s.Expire(t.Context()); err != nil || len(x.Tasks) != 0 {
		t.Errorf("expired %+v, %v", x, err)
	}
	c.Advance(2 * time.Hour)
	if x, err := s.Expire(t.Context()); err != nil || len(x.Tasks) != 1 || x.Tasks[0] != "done" {
		t.Errorf("expired %+v (%v), want the one at rest", x, err)
	}
}
