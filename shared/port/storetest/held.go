package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// everyStateCases: each state is listed under its name; finished ones where the adapter lists them.
func everyStateCases() []testCase {
	var cases []testCase
	for _, c := range []struct {
		state  string
		bucket port.Bucket
	}{
		{"Pending", port.DueBucket}, {"Processing", port.DueBucket}, {"Compensating", port.DueBucket}, {"Error", port.AttentionBucket},
		{"Error", port.DueBucket}, {"Processed", port.DueBucket}, {"Processed", port.NoBucket}, {"Compensated", port.NoBucket}, {"Cancelled", port.NoBucket},
	} {
		tc := testCase{name: fmt.Sprintf("state %s in bucket %q is listed", c.state, c.bucket), needs: hasList, run: func(s *suite) {
			s.createSamples()
			w := creation("z")
			w.Record.State, w.Record.Bucket, w.Record.Created = c.state, c.bucket, at(50)
			s.must(w)
			s.lists(port.Query{State: c.state, After: at(40)}, "z")
			s.lists(port.Query{State: c.state, Before: at(50), After: at(40)})
			s.lists(port.Query{After: at(5)}, "z", "f")
		}}
		if c.bucket == port.NoBucket || c.state == "Processed" {
			tc.needs = listsFinished
		}
		cases = append(cases, tc)
	}
	return append(cases, testCase{name: "finished and open in one listing, in their order", needs: listsFinished, run: func(s *suite) {
		s.createSamples()
		for i, id := range []string{"b", "d", "f"} {
			w := replacement(id, 1)
			w.Record.State, w.Record.Bucket, w.Record.IndexAt = "Processed", port.NoBucket, time.Time{}
			w.Record.Workflow, w.Record.Created = []string{"order", "order", "provision"}[i], at([]int{1, 3, 5}[i])
			s.must(w)
		}
		s.lists(port.Query{}, "f", "e", "d", "c", "b", "a")
		s.lists(port.Query{State: "Processed"}, "f", "d", "b")
		s.lists(port.Query{State: "Processed", Workflow: "order"}, "d", "b")
	}}, testCase{name: "a finished task that is opened again is listed once", needs: listsFinished, run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(5))
		s.put("a", 1, port.NoBucket, time.Time{})
		s.lists(port.Query{}, "a")
		s.put("a", 2, port.DueBucket, at(9))
		s.lists(port.Query{}, "a")
		s.dueIs(port.DueBucket, "a")
	}}, testCase{name: "a reader may change what was listed", needs: hasList, run: func(s *suite) {
		s.must(creation("a"))
		s.eventually(func() string {
			page, err := s.Store.List(s.ctx, port.Query{Limit: 1})
			if err != nil || len(page.Records) != 1 {
				return fmt.Sprintf("%d records, %v", len(page.Records), err)
			}
			page.Records[0].Document[0] = 'X'
			return ""
		})
		s.holds(record("a", 1))
	}})
}

var furtherLeaseCases = need(hasLeases, []testCase{
	{name: "a lease of no time is free at once", run: func(s *suite) {
		s.acquire("l", "a", at(0), 0, true)
		s.acquire("l", "b", at(0), time.Minute, true)
	}},
	{name: "who lost it to another does not have it", run: func(s *suite) {
		s.acquire("l", "a", at(0), 10*time.Second, true)
		s.acquire("l", "b", at(10), time.Minute, true)
		s.acquire("l", "a", at(11), time.Minute, false)
		s.acquire("l", "b", at(12), time.Minute, true)
	}},
	{name: "a clock that runs behind takes nothing", run: func(s *suite) {
		s.acquire("l", "a", at(100), 10*time.Second, true)
		s.acquire("l", "b", at(50), time.Minute, false)
		s.acquire("l", "a", at(50), time.Second, true) // its own it may move back
		s.acquire("l", "b", at(52), time.Minute, true)
	}},
	{name: "names and owners of any form", run: func(s *suite) {
		for _, name := range []string{"shard/0", "shard/00", "SHARD/0", strings.Repeat("n", 200), "größe"} {
			s.acquire(name, name+"'s owner", at(0), time.Minute, true)
			s.acquire(name, "another", at(1), time.Minute, false)
		}
	}},
	{name: "a lease is no task", run: func(s *suite) {
		s.acquire("a", "owner", at(0), time.Minute, true)
		s.absent("a")
		s.must(creation("a"))
		s.acquire("a", "another", at(1), time.Minute, false)
		s.dueIs(port.DueBucket, "a")
	}},
})

// furtherLedgerCases: keys and outputs of every form (P31).
func furtherLedgerCases() []testCase {
	var cases []testCase
	for _, key := range []string{"a/0/charge", "a/00/charge", strings.Repeat("k", 200), "a b'c\"d", "größe/日本", "#lease/1"} {
		cases = append(cases, testCase{name: fmt.Sprintf("key %.20s", key), run: func(s *suite) {
			s.move(port.LedgerEntry{Key: key, State: "started", Attempt: 1})
			s.move(port.LedgerEntry{Key: key, State: "done", Attempt: 1, Output: []byte(`{}`), Version: 1})
			s.entryIs(port.LedgerEntry{Key: key, State: "done", Attempt: 1, Output: []byte(`{}`), Version: 2})
			s.entryIs(port.LedgerEntry{Key: key + "x"})
		}})
	}
	for _, size := range []int{0, 2, 1025, 65_536, 300_000} {
		cases = append(cases, testCase{name: fmt.Sprintf("an output of %d bytes", size), run: func(s *suite) {
			e := port.LedgerEntry{Key: "k", State: "done"}
			if size > 0 {
				e.Output = document(size)
			}
			s.move(e)
			e.Version = 1
			s.entryIs(e)
		}})
	}
	cases = append(cases, testCase{name: "a move leaves nothing of the entry before", run: func(s *suite) {
		s.move(port.LedgerEntry{Key: "k", State: "failed", Attempt: 3, Command: 2, Code: "http-402", Message: "no money", Output: []byte(`{}`)})
		s.move(port.LedgerEntry{Key: "k", State: "started", Version: 1})
		s.entryIs(port.LedgerEntry{Key: "k", State: "started", Version: 2})
	}}, testCase{name: "text and bytes of any form", run: func(s *suite) {
		e := port.LedgerEntry{Key: "k", State: "failed", Code: "größe", Message: "\x00\n'\"日本", Output: []byte("\xff\x00\x80")}
		s.move(e)
		e.Version = 1
		s.entryIs(e)
	}})
	return need(hasLedger, cases)
}

func furtherDefinitionCases() []testCase {
	var cases []testCase
	for _, c := range []struct {
		name string
		data []byte
	}{{"two bytes", []byte("{}")}, {"350 KB", document(350_000)}, {"no text", []byte("\xff\x00\x80")}, {"quotes", []byte(`{"a":"'; --"}`)}, {"no bytes", nil}} {
		cases = append(cases, testCase{name: "a definition of " + c.name, run: func(s *suite) {
			s.putDefinition(c.data)
			s.definitionIs(c.data)
		}})
	}
	named := core.DefinitionHash([]byte("{}"))
	for _, hash := range []string{"", named + "0", named[:31], strings.ToUpper(named), strings.Repeat("f", 64), "sha256:0a", "größe"} {
		cases = append(cases, testCase{name: fmt.Sprintf("hash %.40q is not one of those bytes", hash), run: func(s *suite) {
			s.is("PutDefinition", s.Definitions.PutDefinition(s.ctx, hash, []byte("{}")), port.ErrHash)
			s.putDefinition([]byte("{}"))
			_, err := s.Definitions.Definition(s.ctx, hash)
			s.is("Definition", err, port.ErrNotFound)
		}})
	}
	return need(hasDefinitions, append(cases, testCase{name: "the empty hash is not found", run: func(s *suite) {
		_, err := s.Definitions.Definition(s.ctx, "")
		s.is("Definition", err, port.ErrNotFound)
	}}))
}

// furtherRaceCases: readers beside writers.
var furtherRaceCases = []testCase{
	{name: "a tombstone and a submission race: one is there, whole (P17)", run: func(s *suite) {
		for round := range 10 {
			id := fmt.Sprint("task-", round)
			won := s.race(func(i int) port.Write {
				w := creation(id)
				w.Record.Document = fmt.Appendf(nil, `{"by":%d}`, i)
				if i%2 == 0 {
					w.Order.Body, w.Record.State, w.Record.Bucket, w.Record.IndexAt = nil, "Cancelled", port.NoBucket, time.Time{}
				}
				return w
			}, port.ErrExists)
			if o, err := s.Store.LoadOrder(s.ctx, id); err != nil || (len(o.Body) == 0) != (won%2 == 0) {
				s.Errorf("writer %d won, the order is %+v, %v", won, o, err)
			}
		}
	}},
	{name: "who sees the task sees the order (invariant 2)", run: func(s *suite) {
		const tasks = 30
		var readers sync.WaitGroup
		for reader := range 4 {
			readers.Go(func() {
				for n := reader; n < tasks; {
					id := fmt.Sprint("task-", n)
					records, errs := s.Store.Load(s.ctx, []string{id})
					if errs[0] != nil {
						s.Errorf("Load: %v", errs[0])
						return
					}
					if records[0] == nil {
						continue
					}
					if _, err := s.Store.LoadOrder(s.ctx, id); err != nil {
						s.Errorf("task %q is there, its order: %v", id, err)
					}
					n += 4
				}
			})
		}
		for n := range tasks {
			s.must(creation(fmt.Sprint("task-", n)))
		}
		readers.Wait()
	}},
	{name: "the index, read while tasks move, names none twice in a page", run: func(s *suite) {
		ids := s.oneShard(8)
		for i, id := range ids {
			s.put(id, 0, port.DueBucket, at(i))
		}
		done := make(chan struct{})
		var reader sync.WaitGroup
		reader.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				page, err := s.Store.Due(s.ctx, port.DueBucket, 0, far, nil, 100)
				var seen []string
				for _, d := range page {
					if slices.Contains(seen, d.ID) && !s.options.StaleIndex {
						s.Errorf("%q stands twice in %v", d.ID, page)
						return
					}
					seen = append(seen, d.ID)
				}
				if err != nil {
					s.Errorf("Due: %v", err)
					return
				}
			}
		})
		for v := int64(1); v <= 20; v++ {
			for i, id := range ids {
				s.put(id, v, port.DueBucket, at(int(v)*7%13+i))
			}
		}
		close(done)
		reader.Wait()
		s.dueIs(port.DueBucket, ids...)
	}},
}
