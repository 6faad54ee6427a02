package sqlite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A file that another program has taken a table from fails the calls that need it: none succeeds, or finds nothing.
func TestAMissingTableFailsTheCallsThatNeedIt(t *testing.T) {
	hash := core.DefinitionHash([]byte("{}"))
	for table, want := range map[string]string{
		"tasks":       "Commit new, Commit, Forget, Load, Due, List, States, Expire",
		"orders":      "Commit new, Commit, Forget, Load, LoadOrder",
		"definitions": "Definition, PutDefinition",
		"ledger":      "Entry, Move",
		"probe":       "Probe",
		"messages":    "Expire, Send, Receive, Extend, Delete, Depth",
	} {
		folder := t.TempDir()
		s := open(t, folder, sqlite.Options{CacheBytes: -1, Keep: sqlite.MinKeep, Queues: []sqlite.QueueConfig{{Name: "a"}}})
		q, err := s.Queues().Queue("a")
		if err != nil {
			t.Fatal(err)
		}
		must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
		if err := q.Send(t.Context(), []port.Message{{Body: []byte("m")}})[0]; err != nil {
			t.Fatal(err)
		}
		got, err := q.Receive(t.Context(), 1, 0, time.Minute)
		if err != nil || len(got) != 1 {
			t.Fatal(err)
		}
		run(t, folder, "DROP TABLE "+table)
		var failed []string
		for _, x := range []struct {
			name string
			call func() error
		}{
			{"Commit new", func() error { return s.Commit(t.Context(), []port.Write{creation("b")})[0] }},
			{"Commit", func() error { return s.Commit(t.Context(), []port.Write{replacement("a", 1)})[0] }},
			{"Forget", func() error { return s.Forget(t.Context(), []string{"a"}) }},
			{"Load", func() error { _, errs := s.Load(t.Context(), []string{"a"}); return errs[0] }},
			{"LoadOrder", func() error { _, err := s.LoadOrder(t.Context(), "a"); return err }},
			{"Due", func() error { _, err := s.Due(t.Context(), port.DueBucket, 0, created, nil, 1); return err }},
			{"List", func() error { _, err := s.List(t.Context(), port.Query{Limit: 1}); return err }},
			{"States", func() error { _, err := s.States(t.Context()); return err }},
			{"Probe", s.Probe},
			{"Definition", func() error { _, err := s.Definition(t.Context(), hash); return err }},
			{"PutDefinition", func() error { return s.PutDefinition(t.Context(), hash, []byte("{}")) }},
			{"Entry", func() error { _, err := s.Entry(t.Context(), "k"); return err }},
			{"Move", func() error { return s.Move(t.Context(), port.LedgerEntry{Key: "k", State: "started"}) }},
			{"Expire", func() error { _, err := s.Expire(t.Context()); return err }},
			{"Send", func() error { return q.Send(t.Context(), []port.Message{{Body: []byte("m")}})[0] }},
			{"Receive", func() error { _, err := q.Receive(t.Context(), 1, 0, time.Minute); return err }},
			{"Extend", func() error { return q.Extend(t.Context(), got[0].Receipt, time.Minute) }},
			{"Delete", func() error { return q.Delete(t.Context(), []string{got[0].Receipt})[0] }},
			{"Depth", func() error { _, err := q.Depth(t.Context()); return err }},
		} {
			if err := x.call(); err != nil && strings.Contains(err.Error(), "no such table: ") {
				failed = append(failed, x.name)
			}
		}
		if list := strings.Join(failed, ", "); list != want {
			t.Errorf("without %s %s fail, want %s", table, list, want)
		}
		_ = s.Close()
	}
}
