package sqlite_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// TestEndedContextEndsEveryCall, and nothing of it is stored.
func TestEndedContextEndsEveryCall(t *testing.T) {
	folder := t.TempDir()
	options := sqlite.Options{Heads: -1, Queues: []sqlite.QueueConfig{{Name: "a"}}}
	s := open(t, folder, options)
	q, err := s.Queues().Queue("a")
	require.NoError(t, err)
	hash := core.DefinitionHash([]byte("{}"))
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"Commit":  func() error { return s.Commit(ctx, []port.Write{creation("b")})[0] },
		"Forget":  func() error { return s.Forget(ctx, []string{"a"}) },
		"Load":    func() error { _, errs := s.Load(ctx, []string{"a"}); return errs[0] },
		"Content": func() error { _, err := s.Content(ctx, "a", "hash"); return err },
		"Ended":   func() error { _, err := s.Ended(ctx, "a"); return err },
		"Due": func() error {
			_,
				err := s.Due(ctx, port.DueBucket, 0, created, nil, 1)
			return err
		},
		"List": func() error { _, err := s.List(ctx, port.Query{Limit: 1}); return err },
		"List by both": func() error {
			_, err := s.List(ctx, port.Query{Limit: 1, State: "a", Workflow: "b"})
			return err
		},
		"Definition":    func() error { _, err := s.Definition(ctx, hash); return err },
		"PutDefinition": func() error { return s.PutDefinition(ctx, hash, []byte("{}")) },
		"Entry":         func() error { _, err := s.Entry(ctx, "k"); return err },
		"Move":          func() error { return s.Move(ctx, port.LedgerEntry{Key: "k", State: "started"}) },
		"Expire":        func() error { _, err := s.Expire(ctx); return err },
		"Send":          func() error { return q.Send(ctx, []port.Message{{Body: []byte("m")}})[0] },
		"Receive":       func() error { _, err := q.Receive(ctx, 1, 0, time.Minute); return err },
		"Delete":        func() error { return q.Delete(ctx, []string{"1.1"})[0] },
		"Extend":        func() error { return q.Extend(ctx, []port.Extension{{Receipt: "1.1", For: time.Minute}})[0] },
		"Depth":         func() error { _, err := q.Depth(ctx); return err },
	} {
		require.ErrorIs(t, call(), context.Canceled, name)
	}
	closed(t, s) // which first does all that was begun
	s = open(t, folder, options)
	defer closed(t, s)
	n, err := s.Number(
		"SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM definitions) + (SELECT count(*) " +
			"FROM ledger) + (SELECT count(*) FROM messages)")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// TestNewFileThatCannotBeMadeIsSaid: a folder stands in its way.
func TestNewFileThatCannotBeMadeIsSaid(t *testing.T) {
	folder := t.TempDir()
	mkdir(t, folder+"/"+database+".new")
	write(t, folder+"/"+database+".new/file", nil)
	s, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
	if err == nil {
		closed(t, s)
		t.Fatal("it was opened")
	}
}

// TestACommitThatWaitsIsWithdrawn: its context ends while another operation runs, and nothing of it is stored.
func TestACommitThatWaitsIsWithdrawn(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	release := s.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() { answer <- s.Commit(ctx, []port.Write{creation("withdrawn")})[0] }()
	for s.Pending() < 1 {
		runtime.Gosched()
	}

	cancel()

	require.ErrorIs(t, <-answer, context.Canceled)
	release()
	must(t, s.Commit(t.Context(), []port.Write{creation("next")}))
	records, errs := s.Load(t.Context(), []string{"withdrawn"})
	require.NoError(t, errs[0])
	require.Nil(t, records[0])
}
