package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var createCases = append([]testCase{
	{name: "order and record are stored together", run: func(s *suite) {
		w := creation("a")
		s.must(w)
		s.holds(w.Record)
		o, err := s.Store.LoadOrder(s.ctx, "a")
		if err != nil {
			s.Fatal(err)
		}
		if o.ID != "a" || o.ContentHash != w.Order.ContentHash || !bytes.Equal(o.Body, w.Order.Body) || !o.Created.Equal(epoch) {
			s.Errorf("order is %+v, want %+v", o, w.Order)
		}
	}},
	{name: "nothing is there before", run: func(s *suite) { s.absent("a") }},
	{name: "the second one exists, the first one stays", run: func(s *suite) {
		first := creation("a")
		s.must(first)
		second := creation("a")
		second.Record.Document = []byte(`{"other":true}`)
		second.Order.ContentHash = "other"
		s.is("second create", s.commit1(second), port.ErrExists)
		s.holds(first.Record)
		if o, err := s.Store.LoadOrder(s.ctx, "a"); err != nil || o.ContentHash != first.Order.ContentHash {
			s.Errorf("order is %+v (%v), want the first one", o, err)
		}
	}},
	{name: "a record without an order exists too", run: func(s *suite) {
		s.must(creation("a"))
		w := creation("a")
		w.Order = nil
		w.Record.Document = []byte(`{"other":true}`)
		s.is("create without an order", s.commit1(w), port.ErrExists)
		s.holds(record("a", 1))
	}},
	{name: "a replaced record exists too", run: func(s *suite) {
		s.must(creation("a"))
		s.must(replacement("a", 1))
		s.is("create", s.commit1(creation("a")), port.ErrExists)
		s.holds(record("a", 2))
	}},
	{name: "an order whose record has gone exists (P26)", needs: hasForget, run: func(s *suite) {
		s.must(creation("a"))
		if err := s.Forget(s.ctx, []string{"a"}); err != nil {
			s.Fatal(err)
		}
		s.is("create", s.commit1(creation("a")), port.ErrExists)
		if s.load("a") != nil {
			s.Error("the refused create left a record")
		}
		if _, err := s.Store.LoadOrder(s.ctx, "a"); err != nil {
			s.Errorf("the order has gone too: %v", err)
		}
	}},
	{name: "a record that has gone is in no index", needs: hasForget, run: func(s *suite) {
		s.must(creation("a"))
		if err := s.Forget(s.ctx, []string{"a", "unknown"}); err != nil {
			s.Fatal(err)
		}
		s.dueIs(port.DueBucket)
		s.is("replace", s.commit1(replacement("a", 1)), port.ErrNotFound)
	}},
	{name: "a tombstone's order has no body (P17)", run: func(s *suite) {
		w := creation("a")
		w.Order.Body = nil
		w.Record.State, w.Record.Bucket, w.Record.IndexAt = "Cancelled", port.NoBucket, time.Time{}
		s.must(w)
		o, err := s.Store.LoadOrder(s.ctx, "a")
		if err != nil || len(o.Body) != 0 {
			s.Errorf("order is %+v (%v), want an empty body", o, err)
		}
		s.is("the submit that came later", s.commit1(creation("a")), port.ErrExists)
	}},
	{name: "the caller may change its bytes afterwards", run: func(s *suite) {
		w := creation("a")
		s.must(w)
		w.Record.Document[0], w.Order.Body[0] = 'X', 'X'
		s.holds(record("a", 1))
		if o, _ := s.Store.LoadOrder(s.ctx, "a"); o == nil || !bytes.Equal(o.Body, order("a").Body) {
			s.Error("the stored order changed with the caller's bytes")
		}
	}},
	{name: "a reader may change what it was given", run: func(s *suite) {
		s.must(creation("a"))
		s.load("a").Document[0] = 'X'
		s.holds(record("a", 1))
		o, err := s.Store.LoadOrder(s.ctx, "a")
		if err != nil {
			s.Fatal(err)
		}
		o.Body[0] = 'X'
		if o, _ = s.Store.LoadOrder(s.ctx, "a"); !bytes.Equal(o.Body, order("a").Body) {
			s.Error("the stored order changed with a reader's bytes")
		}
	}},
	{name: "version 1 is the first", run: func(s *suite) {
		for _, version := range []int64{-1, 0, 2, 7} {
			w := creation("a")
			w.Record.Version = version
			s.refused(w)
		}
		s.absent("a")
	}},
	{name: "a negative expected version is refused", run: func(s *suite) {
		w := creation("a")
		w.Expected, w.Record.Version = -1, 0
		s.refused(w)
	}},
	{name: "order and record are of one ID", run: func(s *suite) {
		w := creation("a")
		w.Order.ID = "b"
		s.refused(w)
		s.absent("a")
		s.absent("b")
	}},
	{name: "any bytes are a document", run: func(s *suite) {
		w := creation("a")
		w.Record.Document = []byte("{\"text\":\"\x00\x01 \u00e4\u65e5\U0001F600 ' \\\" ; --\"}")
		s.must(w)
		s.holds(w.Record)
	}},
	{name: "times keep their milliseconds", run: func(s *suite) {
		w := creation("a")
		w.Record.Created = epoch.Add(123 * time.Millisecond)
		w.Record.IndexAt = epoch.Add(60*time.Second + 7*time.Millisecond)
		s.must(w)
		s.holds(w.Record)
	}},
}, idCases()...)

// refused checks that a write is answered with an error of its own and leaves nothing.
func (s *suite) refused(w port.Write) {
	s.Helper()
	err := s.commit1(w)
	if err == nil {
		s.Errorf("Commit takes version %d on expected version %d", w.Record.Version, w.Expected)
	}
	for _, sentinel := range []error{port.ErrExists, port.ErrConflict, port.ErrNotFound, port.ErrUnavailable} {
		if errors.Is(err, sentinel) {
			s.Errorf("a write that must not be made is answered %v, which callers would act on", err)
		}
	}
}

// idCases: every ID that the intake lets in is stored under exactly itself.
func idCases() []testCase {
	var cases []testCase
	for _, c := range []struct{ name, id, other string }{
		{"128 characters", strings.Repeat("x", 128), strings.Repeat("x", 127)},
		{"only signs", "._:-", "._:"},
		{"a number", "0001", "1"},
		{"a long number", "9007199254740993", "9007199254740992"},
		{"scientific", "1e3", "1000"},
		{"a path", "..", "."},
		{"colons like a composed key", "task:1:lease", "task:1"},
		{"upper and lower case differ", "Order-A", "order-a"},
		{"null in words", "null", "NULL"},
		{"leading dash", "--help", "-help"},
	} {
		cases = append(cases, testCase{name: "strange ID: " + c.name, run: func(s *suite) {
			s.must(creation(c.id), creation(c.other))
			s.must(replacement(c.id, 1))
			s.holds(record(c.id, 2))
			s.holds(record(c.other, 1))
			s.dueIs(port.DueBucket, c.id, c.other)
			if o, err := s.Store.LoadOrder(s.ctx, c.id); err != nil || o.ContentHash != order(c.id).ContentHash {
				s.Errorf("order of %q is %+v (%v)", c.id, o, err)
			}
		}})
	}
	return append(cases, testCase{name: "an empty ID is refused", run: func(s *suite) {
		s.refused(creation(""))
	}}, testCase{name: "many IDs", run: func(s *suite) {
		var writes []port.Write
		for i := range 300 {
			writes = append(writes, creation(fmt.Sprintf("task-%d", i)))
		}
		s.must(writes...)
		for i := range 300 {
			s.holds(record(fmt.Sprintf("task-%d", i), 1))
		}
	}})
}
