package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var replaceCases = []testCase{
	{name: "on the expected version (P8)", run: func(s *suite) {
		s.must(creation("a"))
		w := replacement("a", 1)
		w.Record.State, w.Record.Bucket, w.Record.IndexAt = "Error", port.AttentionBucket, at(5)
		w.Record.Document = []byte(`{"longer":"than the one before, by far: 0123456789"}`)
		s.must(w)
		s.holds(w.Record)
	}},
	{name: "an unknown task is not found", run: func(s *suite) {
		s.is("replace", s.commit1(replacement("a", 1)), port.ErrNotFound)
		s.absent("a")
	}},
	{name: "an older version conflicts", run: func(s *suite) {
		s.must(creation("a"))
		s.must(replacement("a", 1))
		s.is("replace", s.commit1(replacement("a", 1)), port.ErrConflict)
		s.holds(record("a", 2))
	}},
	{name: "a newer version conflicts (P15)", run: func(s *suite) {
		s.must(creation("a"))
		s.is("replace", s.commit1(replacement("a", 2)), port.ErrConflict)
		s.holds(record("a", 1))
	}},
	{name: "the version grows by one", run: func(s *suite) {
		s.must(creation("a"))
		for _, version := range []int64{0, 1, 3, 100} {
			w := replacement("a", 1)
			w.Record.Version = version
			s.refused(w)
		}
		s.holds(record("a", 1))
	}},
	{name: "an order does not change", run: func(s *suite) {
		s.must(creation("a"))
		w := replacement("a", 1)
		w.Order = order("a")
		s.refused(w)
		s.holds(record("a", 1))
	}},
	{name: "a hundred versions", run: func(s *suite) {
		s.must(creation("a"))
		for v := int64(1); v < 100; v++ {
			s.must(replacement("a", v))
		}
		s.holds(record("a", 100))
	}},
	{name: "a lost race is decided again on what won", run: func(s *suite) {
		s.must(creation("a"))
		stale := *s.load("a")
		s.must(replacement("a", 1))
		w := port.Write{Record: stale, Expected: stale.Version}
		w.Record.Version++
		s.is("the loser", s.commit1(w), port.ErrConflict)
		fresh := *s.load("a")
		w = port.Write{Record: fresh, Expected: fresh.Version}
		w.Record.Version++
		s.must(w)
		if got := s.load("a").Version; got != 3 {
			s.Errorf("version is %d, want 3", got)
		}
	}},
	{name: "a commit is read back at once", run: func(s *suite) {
		s.must(creation("a"))
		for v := int64(1); v <= 50; v++ {
			s.must(replacement("a", v))
			if got := s.load("a"); got == nil || got.Version != v+1 {
				s.Fatalf("after the commit of version %d Load answers %+v", v+1, got)
			}
		}
	}},
	{name: "documents of every size", run: func(s *suite) {
		s.must(creation("a"))
		v := int64(1)
		for _, size := range []int{2, 10, 1000, 4000, 4100, 20_000, 100_000, 300, 2} {
			w := replacement("a", v)
			w.Record.Document = document(size)
			s.must(w)
			s.holds(w.Record)
			v++
		}
	}},
	{name: "at rest and back", run: func(s *suite) {
		s.must(creation("a"))
		for v := int64(1); v < 6; v++ {
			w := replacement("a", v)
			if v%2 == 1 {
				w.Record.State, w.Record.Bucket, w.Record.IndexAt = "Compensated", port.NoBucket, time.Time{}
			}
			s.must(w)
			s.holds(w.Record)
		}
	}},
}

var batchCases = []testCase{
	{name: "no writes", run: func(s *suite) {
		if errs := s.Store.Commit(s.ctx, nil); len(errs) != 0 {
			s.Errorf("errors %v", errs)
		}
	}},
	{name: "the errors stand at their places", run: func(s *suite) {
		s.must(creation("exists"), creation("stale"), creation("good"))
		s.must(replacement("stale", 1))
		large := creation("large")
		large.Record.Document = document(port.MaxDocument + 1)
		writes := []port.Write{creation("new"), creation("exists"), replacement("good", 1), replacement("stale", 1), large, replacement("unknown", 3), creation("last")}
		want := []error{nil, port.ErrExists, nil, port.ErrConflict, port.ErrTooLarge, port.ErrNotFound, nil}
		for i, err := range s.commit(writes...) {
			s.is(writes[i].Record.ID, err, want[i])
		}
		s.holds(record("new", 1))
		s.holds(record("exists", 1))
		s.holds(record("good", 2))
		s.holds(record("stale", 2))
		s.absent("large")
		s.absent("unknown")
		s.holds(record("last", 1))
	}},
	{name: "all fail", run: func(s *suite) {
		for i, err := range s.commit(replacement("a", 1), replacement("b", 2), replacement("c", 3)) {
			s.is(fmt.Sprint("write ", i), err, port.ErrNotFound)
		}
	}},
	{name: "a write that must not be made affects no other", run: func(s *suite) {
		bad := creation("bad")
		bad.Record.Version = 9
		errs := s.commit(creation("a"), bad, creation("b"))
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			s.Errorf("errors %v", errs)
		}
		s.holds(record("a", 1))
		s.absent("bad")
		s.holds(record("b", 1))
	}},
	{name: "two writes for one version: one wins", run: func(s *suite) {
		s.must(creation("a"))
		first, second := replacement("a", 1), replacement("a", 1)
		first.Record.Document, second.Record.Document = []byte(`{"by":1}`), []byte(`{"by":2}`)
		errs := s.commit(first, second)
		winner := first
		if errs[0] != nil {
			errs[0], errs[1], winner = errs[1], errs[0], second
		}
		s.is("the winner", errs[0], nil)
		s.is("the loser", errs[1], port.ErrConflict)
		s.holds(winner.Record)
	}},
	{name: "two creates of one ID: one wins", run: func(s *suite) {
		errs := s.commit(creation("a"), creation("a"))
		if errs[0] != nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		s.is("the winner", errs[0], nil)
		s.is("the loser", errs[1], port.ErrExists)
	}},
	{name: "a hundred writes", run: func(s *suite) {
		var writes []port.Write
		for i := range 100 {
			writes = append(writes, creation(fmt.Sprint("t", i)))
		}
		s.must(writes...)
		for i := range writes {
			writes[i] = replacement(writes[i].Record.ID, int64(1+i%2))
		}
		for i, err := range s.commit(writes...) {
			s.is(writes[i].Record.ID, err, []error{nil, port.ErrConflict}[i%2])
		}
	}},
	{name: "Load keeps the places", run: func(s *suite) {
		s.must(creation("a"), creation("b"))
		ids := []string{"b", "none", "a", "b", "nothing"}
		records, errs := s.Store.Load(s.ctx, ids)
		if err := errors.Join(errs...); err != nil || len(errs) != len(ids) {
			s.Fatalf("%d errors: %v", len(errs), err)
		}
		var got []string
		for _, r := range records {
			if r == nil {
				got = append(got, "")
			} else {
				got = append(got, r.ID)
			}
		}
		if want := []string{"b", "", "a", "b", ""}; !slices.Equal(got, want) {
			s.Errorf("Load of %v answers %v", ids, got)
		}
	}},
	{name: "Load of nothing", run: func(s *suite) {
		if records, errs := s.Store.Load(s.ctx, nil); len(errs) != 0 || len(records) != 0 {
			s.Errorf("answers %v, %v", records, errs)
		}
	}},
	{name: "Load of a thousand", run: func(s *suite) {
		var writes []port.Write
		var ids []string
		for i := range 500 {
			writes = append(writes, creation(fmt.Sprint("t", i)))
			ids = append(ids, fmt.Sprint("t", i), fmt.Sprint("none", i))
		}
		s.must(writes...)
		records, errs := s.Store.Load(s.ctx, ids)
		if err := errors.Join(errs...); err != nil || len(records) != len(ids) || len(errs) != len(ids) {
			s.Fatalf("answers %d records, %d errors: %v", len(records), len(errs), err)
		}
		for i, r := range records {
			if there := i%2 == 0; (r != nil) != there || there && r.ID != ids[i] {
				s.Fatalf("place %d (%q) holds %+v", i, ids[i], r)
			}
		}
	}},
	{name: "a context that has ended stores nothing in silence", run: func(s *suite) {
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		errs := s.Store.Commit(ctx, []port.Write{creation("a"), creation("b")})
		for i, id := range []string{"a", "b"} {
			if errs[i] == nil {
				s.holds(record(id, 1))
			}
		}
		records, errs := s.Store.Load(ctx, []string{"a", "b"})
		if len(records) != 2 || len(errs) != 2 {
			s.Fatalf("Load of two answers %d records, %d errors", len(records), len(errs))
		}
		for i, err := range errs {
			if err != nil && (!errors.Is(err, context.Canceled) || records[i] != nil) {
				s.Errorf("Load: %v, %v, want the context's error and no record", records[i], err)
			}
		}
	}},
}

// document is JSON of exactly that size, at least 2 bytes.
func document(size int) []byte {
	b := bytes.Repeat([]byte("abcdefghij"), size/10+1)[:size]
	b[0], b[size-1] = '"', '"'
	return b
}
