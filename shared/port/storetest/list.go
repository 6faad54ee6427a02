package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// pages reads a whole listing in pages of that size.
func (s *suite) pages(q port.Query, size int) ([]string, error) {
	q.Limit, q.Cursor = size, ""
	var ids []string
	for n := 0; n < 1000; n++ {
		page, err := s.Store.List(s.ctx, q)
		if err != nil {
			return nil, err
		}
		if len(page.Records) > size {
			return nil, fmt.Errorf("%d records, asked for %d", len(page.Records), size)
		}
		for _, r := range page.Records {
			ids = append(ids, r.ID)
		}
		if page.Next == "" {
			return ids, nil
		}
		q.Cursor = page.Next
	}
	return nil, fmt.Errorf("the listing does not end")
}

// lists checks a listing, in its order, in pages of several sizes.
func (s *suite) lists(q port.Query, want ...string) {
	s.Helper()
	for _, size := range []int{1, 2, 3, 100} {
		s.eventually(func() string {
			got, err := s.pages(q, size)
			if err != nil || !slices.Equal(got, want) {
				return fmt.Sprintf("%+v in pages of %d: %v (%v), want %v", q, size, got, err, want)
			}
			return ""
		})
	}
}

// createSamples creates tasks of several states, workflows and times, newest last.
func (s *suite) createSamples() {
	s.Helper()
	for i, c := range []struct{ id, state, workflow string }{
		{"a", "Processing", "order"}, {"b", "Error", "order"}, {"c", "Processing", "provision"},
		{"d", "Compensating", "order"}, {"e", "Processing", "order"}, {"f", "Error", "provision"},
	} {
		w := creation(c.id)
		w.Record.State, w.Record.Workflow, w.Record.Created = c.state, c.workflow, at(i)
		s.must(w)
	}
}

var listCases = []testCase{
	{name: "an empty store", run: func(s *suite) { s.lists(port.Query{}) }},
	{name: "newest first", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{}, "f", "e", "d", "c", "b", "a")
	}},
	{name: "newest by their time, not by their arrival", run: func(s *suite) {
		for i, id := range []string{"c", "a", "d", "b"} {
			w := creation(id)
			w.Record.Created = at([]int{3, 1, 4, 2}[i])
			s.must(w)
		}
		s.lists(port.Query{}, "d", "c", "b", "a")
	}},
	{name: "by state", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{State: "Processing"}, "e", "c", "a")
		s.lists(port.Query{State: "Error"}, "f", "b")
		if s.options.ListsFinished {
			s.lists(port.Query{State: "Cancelled"})
		}
	}},
	{name: "by workflow", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{Workflow: "order"}, "e", "d", "b", "a")
		s.lists(port.Query{Workflow: "unknown"})
	}},
	{name: "by state and workflow", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{State: "Processing", Workflow: "order"}, "e", "a")
	}},
	{name: "by time: at or after, and before", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{After: at(3)}, "f", "e", "d")
		s.lists(port.Query{Before: at(3)}, "c", "b", "a")
		s.lists(port.Query{After: at(1), Before: at(4)}, "d", "c", "b")
		s.lists(port.Query{After: at(4), Before: at(1)})
	}},
	{name: "by everything", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{State: "Processing", Workflow: "order", After: at(1), Before: at(5)}, "e")
	}},
	{name: "the present state counts", run: func(s *suite) {
		s.createSamples()
		w := replacement("c", 1)
		w.Record.State, w.Record.Workflow, w.Record.Created = "Error", "provision", at(2)
		s.must(w)
		s.lists(port.Query{State: "Processing"}, "e", "a")
		s.lists(port.Query{State: "Error"}, "f", "c", "b")
	}},
	{name: "the whole record", run: func(s *suite) {
		w := creation("a")
		w.Record.Document = document(2000)
		s.must(w)
		s.eventually(func() string {
			page, err := s.Store.List(s.ctx, port.Query{Limit: 10})
			if err != nil || len(page.Records) != 1 {
				return fmt.Sprintf("%d records, %v", len(page.Records), err)
			}
			return difference(page.Records[0], w.Record)
		})
	}},
	{name: "finished tasks", needs: listsFinished, run: func(s *suite) {
		s.createSamples()
		w := replacement("c", 1)
		w.Record.State, w.Record.Workflow, w.Record.Created = "Processed", "provision", at(2)
		w.Record.Bucket, w.Record.IndexAt = port.NoBucket, time.Time{}
		s.must(w)
		s.lists(port.Query{State: "Processed"}, "c")
		s.lists(port.Query{}, "f", "e", "d", "c", "b", "a")
	}},
	{name: "a forgotten task is not listed", needs: func(s *suite) bool { return hasForget(s) && hasList(s) }, run: func(s *suite) {
		s.createSamples()
		if err := s.Forget(s.ctx, []string{"d"}); err != nil {
			s.Fatal(err)
		}
		s.lists(port.Query{}, "f", "e", "c", "b", "a")
	}},
	{name: "many of one millisecond, each once", run: func(s *suite) {
		var want []string
		for i := range 25 {
			id := fmt.Sprintf("task-%02d", i)
			s.must(creation(id))
			want = append(want, id)
		}
		for _, size := range []int{1, 4, 24, 25, 26} {
			s.eventually(func() string {
				got, err := s.pages(port.Query{}, size)
				slices.Sort(got)
				if err != nil || !slices.Equal(got, want) {
					return fmt.Sprintf("pages of %d: %v, %v", size, got, err)
				}
				return ""
			})
		}
	}},
	{name: "pages stay where they are while tasks arrive", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{}, "f", "e", "d", "c", "b", "a")
		page, err := s.Store.List(s.ctx, port.Query{Limit: 2})
		if err != nil {
			s.Fatal(err)
		}
		got := []string{page.Records[0].ID, page.Records[1].ID}
		for n := 0; page.Next != ""; n++ {
			w := creation(fmt.Sprint("new-", n))
			w.Record.Created = at(100 + n)
			s.must(w)
			if page, err = s.Store.List(s.ctx, port.Query{Limit: 2, Cursor: page.Next}); err != nil {
				s.Fatal(err)
			}
			for _, r := range page.Records {
				got = append(got, r.ID)
			}
		}
		if want := []string{"f", "e", "d", "c", "b", "a"}; !slices.Equal(got, want) {
			s.Errorf("pages hold %v, want %v", got, want)
		}
	}},
	{name: "a full last page ends the listing", run: func(s *suite) {
		s.createSamples()
		s.eventually(func() string {
			page, err := s.Store.List(s.ctx, port.Query{Limit: 6})
			if err != nil || len(page.Records) != 6 {
				return fmt.Sprintf("%d records, %v", len(page.Records), err)
			}
			if page.Next == "" {
				return ""
			}
			if page, err = s.Store.List(s.ctx, port.Query{Limit: 6, Cursor: page.Next}); err != nil || len(page.Records) != 0 {
				return fmt.Sprintf("after the last page: %d records, %v", len(page.Records), err)
			}
			return ""
		})
	}},
	{name: "a strange limit is refused", run: func(s *suite) {
		for _, limit := range []int{-1, 0, 1001} {
			if _, err := s.Store.List(s.ctx, port.Query{Limit: limit}); err == nil {
				s.Errorf("limit %d is taken", limit)
			}
		}
	}},
	{name: "a strange cursor is refused", run: func(s *suite) {
		s.createSamples()
		for _, cursor := range []string{"!", "' OR 1=1 --", "\x00", "....", "99999999999999999999999999.1"} {
			if _, err := s.Store.List(s.ctx, port.Query{Limit: 5, Cursor: cursor}); err == nil {
				s.Errorf("cursor %q is taken", cursor)
			}
		}
	}},
	{name: "a state is text, not a query", run: func(s *suite) {
		s.createSamples()
		s.lists(port.Query{State: "x' OR '1'='1"})
		s.lists(port.Query{Workflow: "%"})
	}},
}
