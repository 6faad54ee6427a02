package cost_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var created = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// write creates version 1 of an order, or replaces the version before.
func write(id string, version int64) port.Write {
	return port.Write{Expected: version - 1, Record: port.Record{ID: id, Version: version,
		State: "Processing", Workflow: "order", Created: created, Bucket: port.DueBucket,
		IndexAt: created.Add(time.Minute), Document: fmt.Appendf(nil, `{"version":%d}`, version)}}
}

// What each operation consumes, as DynamoDB says it itself (rule 12), in request units of writes and
// of reads, index included. docs/explanation/cost.md stands on these figures.
func TestUnitsOfEachOperation(t *testing.T) {
	m := &Meter{}
	c := dynamotest.Config(t, awsclient.Options{})
	plain := dynamo.NewClient(c)
	names := dynamotest.Tables(t, plain)
	m.Into(&c)
	client := dynamo.NewClient(c)
	s := dynamo.New(client, names.Tables, dynamo.Options{Shards: 2})
	listed := dynamo.New(client, names.Tables, dynamo.Options{Shards: 2, FinishedIndex: true})
	expiring := dynamo.New(client, names.Tables, dynamo.Options{Shards: 2, TTL: 10_000 * 24 * time.Hour})
	kept := func() error {
		w := write("k", 1)
		w.Hash, w.Apart, w.Content = "h", true, []byte("{}")
		return s.Commit(t.Context(), []port.Write{w})[0]
	}
	ledger := dynamo.NewLedger(client, names.Ledger)
	commit := func(s *dynamo.Store, id string, version int64, change func(*port.Record)) func() error {
		return func() error {
			w := write(id, version)
			if change != nil {
				change(&w.Record)
			}
			return s.Commit(t.Context(), []port.Write{w})[0]
		}
	}
	var figures strings.Builder // `make test-dynamo` shows them at its end
	fmt.Fprintf(&figures, "\n%-62s %4s %4s\n", "", "WRU", "RRU")
	rest := func(r *port.Record) { r.State, r.Bucket, r.IndexAt = "Processed", port.NoBucket, time.Time{} }
	load := func() error { _, errs := s.Load(t.Context(), []string{"a"}); return errs[0] }
	for _, tt := range []struct {
		name   string
		do     func() error
		writes float64
		reads  float64
	}{
		{"create", commit(s, "a", 1, nil), 2, 0},
		{"create, the order kept apart", kept, 3, 0},
		{"commit, the due time stays", commit(s, "a", 2, nil), 1, 0},
		{"commit, the due time moves",
			commit(s, "a", 3, func(r *port.Record) { r.IndexAt = r.IndexAt.Add(time.Hour) }), 3, 0},
		{"commit of an item over 1 KiB", commit(s, "a", 4, func(r *port.Record) {
			r.IndexAt, r.Document = r.IndexAt.Add(time.Hour), fmt.Appendf(nil, `{"x":"%01200d"}`, 0)
		}), 2, 0},
		{"load of the task, strongly consistent", load, 0, 1},
		{"load of an order kept apart, eventually consistent",
			func() error { _, err := s.Content(t.Context(), "k", "h"); return err }, 0, 0.5},
		// 2 for what was over 1 KiB
		{"commit that ends the task: it leaves the index", commit(s, "a", 5, rest), 3, 0},
		{"create of another", commit(listed, "b", 1, nil), 2, 0},
		{"commit that ends the task, with the index of finished orders", commit(listed, "b", 2, rest), 3, 0},
		{"create of a third", commit(s, "c", 1, nil), 2, 0},
		{"commit that ends the task, without that index", commit(s, "c", 2, rest), 2, 0},
		{"create where orders expire: it reads the tombstone", commit(expiring, "d", 1, nil), 2, 1},
		{"commit that ends it: it puts the tombstone", commit(expiring, "d", 2, rest), 3, 0},
		{"query of one shard", func() error {
			_, err := s.Due(t.Context(), port.DueBucket, 0, created, nil, 10)
			return err
		}, 0, 0.5},
		{"lease, first", func() error {
			_, err := s.Acquire(t.Context(), "l", "x", created, time.Minute)
			return err
		}, 1, 0},
		{"lease, renewed", func() error {
			_, err := s.Acquire(t.Context(), "l", "x", created, time.Minute)
			return err
		}, 1, 0},
		{"ledger, move", func() error {
			return ledger.Move(t.Context(), port.LedgerEntry{Key: "k", State: "started"})
		}, 1, 0},
		{"ledger, entry", func() error { _, err := ledger.Entry(t.Context(), "k"); return err }, 0, 1},
	} {
		m.Reset()
		if err := tt.do(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		writes, reads := spent(m)
		fmt.Fprintf(&figures, "%-62s %4.1f %4.1f\n", tt.name, writes, reads)
		if writes != tt.writes || reads != tt.reads {
			t.Errorf("%s: %v WRU, %v RRU, want %v and %v", tt.name, writes, reads, tt.writes, tt.reads)
		}
	}
	t.Log(figures.String())
}
