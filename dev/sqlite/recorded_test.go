package sqlite_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Every later program reads a file of schema 2, which testdata/schema2.sql makes. It is never recorded again.
func TestFileOfSchema2IsRead(t *testing.T) {
	script, err := os.ReadFile("testdata/schema2.sql")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	folder := t.TempDir()
	run(t, folder, string(script))
	s := open(t, folder, sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "intake"}}})
	defer closed(t, s)
	const running, ended = "order-000123", "0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234"
	for id, file := range map[string]string{running: "usual", ended: "goes-well-end"} {
		recorded, err := os.ReadFile(filepath.Join("../../shared/state/testdata/schema2", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		document := strings.TrimSpace(string(recorded))
		want, err := state.DecodeTask([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		records, errs := s.Load(ctx, []string{id})
		if errs[0] != nil || records[0] == nil {
			t.Fatalf("%s: %v", id, errs[0])
		}
		r := records[0]
		if string(r.Document) != document || r.Version != want.Version ||
			r.State != string(want.ProcessState) || r.Workflow != "order" || !r.Created.Equal(created) ||
			(r.Bucket == port.DueBucket) != (id == running) {
			t.Errorf("%s: %+v", id, r)
		}
	}
	due, err := s.Due(ctx, port.DueBucket, port.ShardOf(running, s.Shards()), created.Add(time.Hour), nil, 9)
	if err != nil || len(due) != 1 || due[0].ID != running || !due[0].At.Equal(created.Add(40*time.Second)) {
		t.Errorf("due: %v, %v", due, err)
	}
	if b, err := s.Content(ctx, running, "fedcba9876543210fedcba9876543210"); string(b) != `{"n":1.50}` {
		t.Errorf("content: %s, %v", b, err)
	}
	if is, err := s.Ended(ctx, "expired"); err != nil || !is {
		t.Errorf("tombstone: %v, %v", is, err)
	}
	if b, err := s.Definition(ctx, "67d6291b301412df4a6ca7808aeafac9"); string(b) != `{"schema":1}` {
		t.Errorf("definition: %s, %v", b, err)
	}
	want := port.LedgerEntry{
		Key: running + "/0/charge", State: "failed", Attempt: 2, Command: 1,
		Output: []byte(`{"a":1}`), Code: "refused", Message: "no", Version: 1,
	}
	if e, err := s.Entry(ctx, want.Key); err != nil || !reflect.DeepEqual(e, want) {
		t.Errorf("ledger: %+v, %v", e, err)
	}
	q, err := s.Queues().Queue("intake")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := q.Receive(ctx, 1, 0, time.Minute); err != nil || len(got) != 1 ||
		string(got[0].Body) != "hello" {
		t.Errorf("messages: %v, %v", got, err)
	}
	again := creation(running) // the program also writes into the file
	again.Record.Version = 7
	again.Expected = 6
	again.Content = nil
	if err := s.Commit(ctx, []port.Write{again})[0]; err != nil {
		t.Error(err)
	}
}
