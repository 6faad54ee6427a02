package sqlite_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// refuses makes the file refuse what is written to a table.
func refuses(what, table string) string {
	return "CREATE TRIGGER refuses BEFORE " + what + " ON " + table +
		" BEGIN SELECT RAISE(ABORT, 'refused by the file'); END"
}

// A file that another program has changed fails the calls that need what is not there any more: none
// succeeds, or finds nothing, and what could not be written whole is not written at all.
func TestADamagedFileFailsTheCallsThatNeedIt(t *testing.T) {
	hash := core.DefinitionHash([]byte("{}"))
	for damage, want := range map[string]string{
		"DROP TABLE orders": "Commit new, Commit, Forget, Load, Content, Ended, Due, List, " +
			"States, Expire",
		"DROP TABLE contents":            "Commit new, Forget, Content, Expire",
		"DROP TABLE definitions":         "Definition, PutDefinition",
		"DROP TABLE ledger":              "Entry, Move, Move again, Expire",
		"DROP TABLE probe":               "Probe",
		"DROP TABLE messages":            "Send, Receive, Extend, Delete, Depth, Expire",
		refuses("INSERT", "orders"):      "Commit new",
		refuses("UPDATE", "orders"):      "Commit, Forget, Expire",
		refuses("INSERT", "contents"):    "Commit new",
		refuses("DELETE", "contents"):    "Forget, Expire",
		refuses("INSERT", "definitions"): "PutDefinition",
		refuses("INSERT", "ledger"):      "Move",
		refuses("UPDATE", "ledger"):      "Move again",
		refuses("DELETE", "ledger"):      "Expire",
		refuses("INSERT", "messages"):    "Send",
		refuses("UPDATE", "messages"):    "Receive, Extend",
		refuses("DELETE", "messages"):    "Delete, Expire",
	} {
		folder := t.TempDir()
		c := newClock()
		s := open(t, folder, sqlite.Options{
			Clock: c, Heads: -1, Keep: sqlite.MinKeep,
			Queues: []sqlite.QueueConfig{{Name: "a", Retention: sqlite.MinKeep / 2}},
		})
		q, err := s.Queues().Queue("a")
		require.NoError(t, err)
		must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
		require.NoError(t, q.Send(t.Context(), []port.Message{{Body: []byte("m")}})[0])
		got, err := q.Receive(t.Context(), 1, 0, time.Minute)
		require.NoError(t, err)
		require.Len(t, got, 1)
		must(t, s.Commit(t.Context(), []port.Write{finished("old")}))
		for _, key := range []string{"old/0/pay", "a/0/pay"} {
			require.NoError(t, s.Move(t.Context(), port.LedgerEntry{Key: key, State: "started"}))
		}
		run(t, folder, damage)
		var failed []string
		for _, x := range []struct {
			name string
			call func() error
		}{
			{"Commit new", func() error { return s.Commit(t.Context(), []port.Write{creation("b")})[0] }},
			{"Commit", func() error { return s.Commit(t.Context(), []port.Write{replacement("a", 1)})[0] }},
			{"Forget", func() error { return s.Forget(t.Context(), []string{"a"}) }},
			{"Load", func() error { _, errs := s.Load(t.Context(), []string{"a"}); return errs[0] }},
			{"Content", func() error { _, err := s.Content(t.Context(), "a", "hash"); return err }},
			{"Ended", func() error { _, err := s.Ended(t.Context(), "a"); return err }},
			{"Due", func() error {
				_, err := s.Due(t.Context(), port.DueBucket, 0, created, nil, 1)
				return err
			}},
			{"List", func() error { _, err := s.List(t.Context(), port.Query{Limit: 1}); return err }},
			{"States", func() error { _, err := s.States(t.Context()); return err }},
			{"Probe", s.Probe},
			{"Definition", func() error { _, err := s.Definition(t.Context(), hash); return err }},
			{"PutDefinition", func() error { return s.PutDefinition(t.Context(), hash, []byte("{}")) }},
			{"Entry", func() error { _, err := s.Entry(t.Context(), "k"); return err }},
			{"Move", func() error {
				return s.Move(t.Context(),
					port.LedgerEntry{Key: "k", State: "started"})
			}},
			{"Move again", func() error {
				return s.Move(t.Context(), port.LedgerEntry{Key: "a/0/pay", State: "done", Version: 1})
			}},
			{"Send", func() error { return q.Send(t.Context(), []port.Message{{Body: []byte("m")}})[0] }},
			{"Receive", func() error { _, err := q.Receive(t.Context(), 1, 0, time.Minute); return err }},
			{"Extend", func() error {
				return q.Extend(t.Context(), []port.Extension{{Receipt: got[0].Receipt, For: time.Minute}})[0]
			}},
			{"Delete", func() error { return q.Delete(t.Context(), []string{got[0].Receipt})[0] }},
			{"Depth", func() error { _, err := q.Depth(t.Context()); return err }},
			{"Expire", func() error {
				c.Advance(sqlite.MinKeep)
				_,
					err := s.Expire(t.Context())
				return err
			}},
		} {
			if err := x.call(); err != nil && (strings.Contains(err.Error(), "no such table: ") ||
				strings.Contains(err.Error(), "refused by the file")) {
				failed = append(failed, x.name)
			}
		}
		require.Equal(t, want, strings.Join(failed, ", "), damage)
		if strings.HasPrefix(damage, "CREATE TRIGGER") { // what failed has left all as it was
			_, err := s.Content(t.Context(), "b", "hash")
			require.Equal(t, errors.Is(err, port.ErrNotFound), slices.Contains(failed, "Commit new"), damage)
			old, errs := s.Load(t.Context(), []string{"old"})
			failed := slices.Contains(failed, "Expire")
			require.NoError(t, errs[0], damage)
			require.Equal(t, old[0] != nil, failed, damage)
		}
		_ = s.Close()
	}
}

// finished is a task at its end, with its order.
func finished(id string) port.Write {
	w := creation(id)
	w.Record.State = "Processed"
	w.Record.Bucket = port.NoBucket
	return w
}
