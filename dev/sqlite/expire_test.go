package sqlite_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// expireAll goes on as long as there is more, and holds each step to its bound.
func expireAll(t *testing.T, s *sqlite.Store) (tasks []string, messages int) {
	t.Helper()
	for range 1000 {
		x, err := s.Expire(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, x.Messages, sqlite.ExpiresAtOnce)
		require.LessOrEqual(t, len(x.Tasks), sqlite.ExpiresAtOnce)
		tasks = append(tasks, x.Tasks...)
		messages = messages + x.Messages
		if !x.More {
			slices.Sort(tasks)
			return tasks, messages
		}
	}
	t.Fatal("it does not end")
	return nil, 0
}

func send(t *testing.T, s *sqlite.Store, queue string, n int) {
	t.Helper()
	q, err := s.Queues().Queue(queue)
	require.NoError(t, err)
	messages := make([]port.Message, n)
	for i := range messages {
		messages[i].Body = fmt.Append(nil, i)
	}
	must(t, q.Send(t.Context(), messages))
}

func newClock() *memory.Clock { return memory.NewClock(created) }

// TestMessagesExpireThoughNothingReadsThem, those of queues that are gone too.
func TestMessagesExpireThoughNothingReadsThem(t *testing.T) {
	folder := t.TempDir()
	c := newClock()
	s := open(t, folder, sqlite.Options{
		Clock: c,
		Queues: []sqlite.QueueConfig{
			{Name: "a", Retention: time.Hour},
			{Name: "b", Retention: 3 * time.Hour},
			{Name: "c"},
			{Name: "gone", Retention: time.Minute},
		},
	})
	const many = 2*sqlite.ExpiresAtOnce + 7
	send(t, s, "a", many)
	send(t, s, "b", 3)
	send(t, s, "c", 5)
	c.Advance(30 * time.Minute)
	send(t, s, "a", 2)
	_, n := expireAll(t, s)
	require.Zero(t, n)
	c.Advance(30 * time.Minute)
	_, n = expireAll(t, s)
	require.Equal(t, many, n)
	send(t, s, "gone", 4)
	closed(t, s)
	s = open(t, folder, sqlite.Options{Clock: c, Queues: []sqlite.QueueConfig{{Name: "c"}}})
	defer closed(t, s)
	c.Advance(13 * 24 * time.Hour)
	_, n = expireAll(t, s)
	require.Zero(t, n)
	c.Advance(24 * time.Hour)
	_, n = expireAll(t, s)
	require.Equal(t, 4+3+2, n)
	if n, err := s.Number("SELECT count(*) FROM messages"); err != nil || n != 5 {
		t.Errorf("%d messages are left (%v), want the 5 that never expire", n, err)
	}
}

// TestManyExpiredMessagesAreReadPast: by receives that wait, and by those that do not.
func TestManyExpiredMessagesAreReadPast(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(),
		sqlite.Options{Clock: c, Queues: []sqlite.QueueConfig{{Name: "a", Retention: time.Hour}}})
	defer closed(t, s)
	q, err := s.Queues().Queue("a")
	require.NoError(t, err)
	for _, wait := range []time.Duration{0, time.Minute} {
		send(t, s, "a", 3*sqlite.ExpiresAtOnce+1)
		c.Advance(time.Hour)
		send(t, s, "a", 2)
		c.Advance(time.Second)
		d, err := q.Depth(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, d.Visible)
		require.Equal(t, time.Second, d.Oldest)
		got, err := q.Receive(t.Context(), 10, wait, time.Minute)
		require.NoError(t, err)
		require.Len(t, got, 2)
		c.Advance(time.Hour)
	}
}

// TestKeptTasksExpire: a task goes once it has been at rest for long enough; what stays of its order
// keeps it from running again (P26).
func TestKeptTasksExpire(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), sqlite.Options{Clock: c, Keep: 20 * 24 * time.Hour})
	defer closed(t, s)
	for _, id := range []string{"done", "don", "done-2", "later", "running", "stopped"} {
		must(t, s.Commit(t.Context(), []port.Write{creation(id)}))
		require.NoError(t, s.Move(t.Context(), port.LedgerEntry{Key: id + "/0/pay", State: "done"}))
	}
	rest := func(id string, version int64, state string, bucket port.Bucket) {
		t.Helper()
		w := replacement(id, version)
		w.Record.State = state
		w.Record.Bucket = bucket
		must(t, s.Commit(t.Context(), []port.Write{w}))
	}
	rest("done", 1, "Processed", port.NoBucket)
	rest("later", 1, "Compensated", port.NoBucket)
	rest("stopped", 1, "Error", port.AttentionBucket)
	c.Advance(10 * 24 * time.Hour)
	rest("later", 2, "Compensated", port.NoBucket) // a verdict: kept from now on
	c.Advance(10*24*time.Hour - time.Second)
	tasks, _ := expireAll(t, s)
	require.Empty(t, tasks, "expired too early")
	c.Advance(time.Second)
	tasks, _ = expireAll(t, s)
	require.Equal(t, "[done]", fmt.Sprint(tasks))
	records, errs := s.Load(t.Context(), []string{"done", "don", "later", "running", "stopped"})
	if err := errors.Join(errs...); err != nil || records[0] != nil || records[1] == nil ||
		records[2] == nil || records[3] == nil || records[4] == nil {
		t.Errorf("tasks are %v, %v", records, err)
	}
	_, err := s.Content(t.Context(), "done", "hash")
	require.ErrorIs(t, err, port.ErrNotFound)
	for id, want := range map[string]bool{"done": true, "later": false, "unknown": false} {
		ended, err := s.Ended(t.Context(), id)
		require.Equal(t, want, ended, id)
		require.NoError(t, err, id)
	}
	n, err := s.Number(
		"SELECT count(*) FROM orders WHERE id='done' AND state='Processed' AND workflow='order' AND " +
			"hash='hash' AND index_at>0")
	require.EqualValues(t, 1, n)
	require.NoError(t, err)
	require.ErrorIs(t, s.Commit(t.Context(), []port.Write{creation("done")})[0], port.ErrExists)
	for key, want := range map[string]int64{
		"done/0/pay": 0, "don/0/pay": 1, "done-2/0/pay": 1,
		"later/0/pay": 1,
	} {
		e, err := s.Entry(t.Context(), key)
		require.NoError(t, err, key)
		require.Equal(t, want, e.Version, key)
	}
	c.Advance(10 * 24 * time.Hour)
	tasks, _ = expireAll(t, s)
	require.Equal(t, "[later]", fmt.Sprint(tasks))
}

// TestManyTasksExpireInSteps, and none without Keep.
func TestManyTasksExpireInSteps(t *testing.T) {
	folder := t.TempDir()
	c := newClock()
	s := open(t, folder, sqlite.Options{Clock: c})
	var writes []port.Write
	for i := range 500 {
		id := fmt.Sprintf("o-%d", i)
		created := c.Now()
		writes = append(writes, port.Write{Record: port.Record{
			ID: id, Version: 1, State: "Processed",
			Workflow: "order", Created: created, Document: []byte("{}"),
		}})
	}
	require.NoError(t, errors.Join(s.Commit(t.Context(), writes)...))
	c.Advance(20 * 365 * 24 * time.Hour)
	tasks, _ := expireAll(t, s)
	require.Empty(t, tasks)
	closed(t, s)
	s = open(t, folder, sqlite.Options{Clock: c, Keep: sqlite.MinKeep})
	defer closed(t, s)
	tasks, _ = expireAll(t, s)
	require.Len(t, tasks, 500)
}

// TestTasksAreKeptForAWhile: requests of an expired task must not be in any queue any more.
func TestTasksAreKeptForAWhile(t *testing.T) {
	_, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Keep: sqlite.MinKeep - time.Hour})
	require.ErrorContains(t, err, "432h")
}

// P52: of an erased order the ledger keeps how its calls ended, and neither what they returned nor why they
// failed; no other order is affected.
func TestEraseReachesTheLedger(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{Clock: newClock()})
	defer closed(t, s)
	must(t, s.Commit(t.Context(), []port.Write{creation("a"), creation("a-2")}))
	for _, key := range []string{"a/0/pay", "a-2/0/pay"} {
		err := s.Move(t.Context(), port.LedgerEntry{
			Key: key, State: "done", Code: "paid", Message: "anna",
			Output: []byte(`"anna"`),
		})
		require.NoError(t, err)
	}
	require.NoError(t, s.Erase(t.Context(), "a", "hash"))
	for key, kept := range map[string]bool{"a/0/pay": false, "a-2/0/pay": true} {
		e, err := s.Entry(t.Context(), key)
		if err != nil || e.State != "done" || e.Code != "paid" || e.Version != 1 ||
			(e.Message != "") != kept || (len(e.Output) > 0) != kept {
			t.Errorf("%s: %+v, %v", key, e, err)
		}
	}
}
