package storetest

import (
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// conditionCases: every expectation against every stored version (P8). stored 0: nothing.
func conditionCases() []testCase {
	var cases []testCase
	for _, stored := range []int64{0, 1, 2, 5} {
		for _, expected := range []int64{0, 1, 2, 4, 5, 6} {
			cases = append(cases, testCase{name: fmt.Sprintf("version %d is stored, %d is expected", stored, expected), run: func(s *suite) {
				s.stored("a", stored)
				w := replacement("a", expected)
				if expected == 0 {
					w.Order = order("a")
				}
				w.Record.Document = []byte(`{"new":true}`)
				var want error
				switch {
				case stored == expected:
				case expected == 0:
					want = port.ErrExists
				case stored == 0:
					want = port.ErrNotFound
				default:
					want = port.ErrConflict
				}
				s.is("commit", s.commit1(w), want)
				switch {
				case want == nil:
					s.holds(w.Record)
				case stored == 0:
					s.absent("a")
				default:
					s.holds(record("a", stored))
				}
			}})
		}
	}
	return cases
}

// stored brings a task to a version; 0: nothing is stored.
func (s *suite) stored(id string, version int64) {
	s.Helper()
	if version > 0 {
		s.must(creation(id))
	}
	for v := int64(1); v < version; v++ {
		s.must(replacement(id, v))
	}
}

// existingCases: what was there first decides, whatever comes second (P14, P17, P26).
func existingCases() []testCase {
	tombstone := func() port.Write {
		w := creation("a")
		w.Order.Body, w.Order.ContentHash = nil, ""
		w.Record.State, w.Record.Bucket, w.Record.IndexAt = "Cancelled", port.NoBucket, time.Time{}
		return w
	}
	alone := func() port.Write { w := creation("a"); w.Order = nil; return w }
	other := func() port.Write {
		w := creation("a")
		w.Order.Body, w.Order.ContentHash = []byte(`{"item":"other"}`), "other"
		return w
	}
	forms := []struct {
		name  string
		write func() port.Write
	}{{"an order", func() port.Write { return creation("a") }}, {"another content", other}, {"a tombstone", tombstone}, {"a record without an order", alone}}
	var cases []testCase
	for _, first := range forms {
		for _, second := range forms {
			cases = append(cases, testCase{name: "first " + first.name + ", then " + second.name, run: func(s *suite) {
				s.must(first.write())
				w := second.write()
				w.Record.Document = []byte(`{"second":true}`)
				s.is("the second create", s.commit1(w), port.ErrExists)
				s.holds(first.write().Record)
				s.orderIs("a", first.write().Order)
			}})
		}
	}
	return cases
}

// orderIs checks the stored order; nil: there is none.
func (s *suite) orderIs(id string, want *port.Order) {
	s.Helper()
	got, err := s.Store.LoadOrder(s.ctx, id)
	if want == nil {
		s.is("LoadOrder", err, port.ErrNotFound)
		return
	}
	if err != nil {
		s.Errorf("LoadOrder: %v", err)
		return
	}
	if got.ID != want.ID || got.ContentHash != want.ContentHash || string(got.Body) != string(want.Body) || !got.Created.Equal(want.Created) {
		s.Errorf("order %q is %.200v, want %.200v", id, got, want)
	}
}

// placeCases: a refused write at any place of a batch leaves the others alone.
func placeCases() []testCase {
	large := creation("bad")
	large.Record.Document = document(port.MaxDocument + 1)
	heavy := creation("bad")
	heavy.Order.Body = document(port.MaxOrder + 1)
	var cases []testCase
	for _, bad := range []struct {
		name  string
		write port.Write
		want  error
	}{
		{"too large", large, port.ErrTooLarge}, {"too large an order", heavy, port.ErrTooLarge},
		{"a create that exists", creation("there"), port.ErrExists},
		{"a replace on another version", replacement("there", 3), port.ErrConflict}, {"a replace of nothing", replacement("bad", 1), port.ErrNotFound},
	} {
		for place, where := range []string{"first", "in the middle", "last"} {
			cases = append(cases, testCase{name: bad.name + " " + where + " in a batch", run: func(s *suite) {
				s.must(creation("there"), creation("c"))
				good := []port.Write{creation("a"), creation("b"), replacement("c", 1), creation("d")}
				at := []int{0, 2, 4}[place]
				writes := append(append(append([]port.Write{}, good[:at]...), bad.write), good[at:]...)
				for i, err := range s.commit(writes...) {
					want := error(nil)
					if i == at {
						want = bad.want
					}
					s.is(fmt.Sprint("place ", i), err, want)
				}
				for _, w := range good {
					s.holds(w.Record)
				}
				s.holds(record("there", 1))
				if bad.write.Record.ID == "bad" {
					s.absent("bad")
				}
			}})
		}
	}
	return cases
}
