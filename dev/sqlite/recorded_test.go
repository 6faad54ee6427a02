package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Every later program reads a file of schema 2, which testdata/schema2.sql makes. It is never recorded again.
func TestFileOfSchema2IsRead(t *testing.T) {
	script, err := os.ReadFile("testdata/schema2.sql")
	require.NoError(t, err)
	ctx := t.Context()
	folder := t.TempDir()
	run(t, folder, string(script))
	s := open(t, folder, sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "intake"}}})
	defer closed(t, s)
	const running, ended = "order-000123", "0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234"
	for id, file := range map[string]string{running: "usual", ended: "goes-well-end"} {
		recorded, err := os.ReadFile(filepath.Join("../../shared/state/testdata/schema2", file+".json"))
		require.NoError(t, err)
		document := strings.TrimSpace(string(recorded))
		want, err := state.DecodeTask([]byte(document))
		require.NoError(t, err)
		records, errs := s.Load(ctx, []string{id})
		require.NoError(t, errs[0], id)
		require.NotNil(t, records[0], id)
		r := records[0]
		require.Equal(t, document, string(r.Document), id)
		require.Equal(t, want.Version, r.Version, id)
		require.Equal(t, string(want.ProcessState), r.State, id)
		require.Equal(t, "order", r.Workflow, id)
		require.True(t, r.Created.Equal(created), id)
		require.Equal(t, id == running, r.Bucket == port.DueBucket, id)
	}
	due, err := s.Due(ctx, port.DueBucket, port.ShardOf(running, s.Shards()), created.Add(time.Hour), nil, 9)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, running, due[0].ID)
	require.True(t, due[0].At.Equal(created.Add(40*time.Second)), "due: %v, %v", due, err)
	b, _ := s.Content(ctx, running, "fedcba9876543210fedcba9876543210")
	require.Equal(t, `{"n":1.50}`, string(b), "content")
	is, err := s.Ended(ctx, "expired")
	require.NoError(t, err)
	require.True(t, is, "tombstone: %v, %v", is, err)
	b, _ = s.Definition(ctx, "67d6291b301412df4a6ca7808aeafac9")
	require.Equal(t, `{"schema":1}`, string(b), "definition")
	want := port.LedgerEntry{
		Key: running + "/0/charge", State: "failed", Attempt: 2, Command: 1,
		Output: []byte(`{"a":1}`), Code: "refused", Message: "no", Version: 1,
	}
	e, err := s.Entry(ctx, want.Key)
	require.NoError(t, err)
	require.Equal(t, want, e)
	q, err := s.Queues().Queue("intake")
	require.NoError(t, err)
	got, err := q.Receive(ctx, 1, 0, time.Minute)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "hello", string(got[0].Body))
	again := creation(running) // the program also writes into the file
	again.Record.Version = 7
	again.Expected = 6
	again.Content = nil
	require.NoError(t, s.Commit(ctx, []port.Write{again})[0])
}
