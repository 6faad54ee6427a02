package storetest

import "github.com/stepkeeper/stepkeeper/shared/port"

var limitCases = []testCase{
	{name: "the largest document", run: func(s *suite) {
		w := creation("a")
		w.Record.Document = document(port.MaxDocument)
		s.must(w)
		s.holds(w.Record)
		w = replacement("a", 1)
		w.Record.Document = document(port.MaxDocument)
		s.must(w)
		s.holds(w.Record)
	}},
	{name: "a document over the limit, in a create", run: func(s *suite) {
		w := creation("a")
		w.Record.Document = document(port.MaxDocument + 1)
		s.is("create", s.commit1(w), port.ErrTooLarge)
		s.absent("a")
		s.must(creation("a"))
	}},
	{name: "a document over the limit, in a replace", run: func(s *suite) {
		s.must(creation("a"))
		w := replacement("a", 1)
		w.Record.Document = document(2 * port.MaxDocument)
		s.is("replace", s.commit1(w), port.ErrTooLarge)
		s.holds(record("a", 1))
		s.must(replacement("a", 1))
	}},
	{name: "others of a batch with a document over the limit", run: func(s *suite) {
		w := creation("large")
		w.Record.Document = document(port.MaxDocument + 1)
		errs := s.commit(creation("a"), w, creation("b"))
		s.is("first", errs[0], nil)
		s.is("large", errs[1], port.ErrTooLarge)
		s.is("last", errs[2], nil)
		s.holds(record("a", 1))
		s.holds(record("b", 1))
		s.absent("large")
	}},
	{name: "a batch of large documents", run: func(s *suite) {
		var writes []port.Write
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			w := creation(id)
			w.Record.Document = document(port.MaxDocument)
			writes = append(writes, w)
		}
		s.must(writes...)
		for _, w := range writes {
			s.holds(w.Record)
		}
	}},
	{name: "the largest order", run: func(s *suite) {
		w := creation("a")
		w.Order.Body = document(port.MaxOrder)
		s.must(w)
		if o, err := s.Store.LoadOrder(s.ctx, "a"); err != nil || len(o.Body) != port.MaxOrder {
			s.Errorf("order of %d bytes: %v", port.MaxOrder, err)
		}
	}},
	{name: "an order over the limit", run: func(s *suite) {
		w := creation("a")
		w.Order.Body = document(port.MaxOrder + 1)
		s.is("create", s.commit1(w), port.ErrTooLarge)
		s.absent("a")
	}},
}
