package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// together starts n goroutines at one moment and waits for all.
func together(n int, run func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			run(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

var raceCases = []testCase{
	{name: "one create wins", run: func(s *suite) {
		for round := range 10 {
			id := fmt.Sprint("task-", round)
			won := s.race(func(i int) port.Write {
				w := creation(id)
				w.Record.Document = fmt.Appendf(nil, `{"by":%d}`, i)
				w.Order.ContentHash = fmt.Sprint("by-", i)
				return w
			}, port.ErrExists)
			o, err := s.Store.LoadOrder(s.ctx, id)
			if err != nil || o.ContentHash != fmt.Sprint("by-", won) {
				s.Errorf("the order is %+v (%v), the record is that of writer %d", o, err, won)
			}
		}
	}},
	{name: "one replace wins each version", run: func(s *suite) {
		s.must(creation("a"))
		for v := int64(1); v <= 20; v++ {
			s.race(func(i int) port.Write {
				w := replacement("a", v)
				w.Record.Document = fmt.Appendf(nil, `{"by":%d,"version":%d}`, i, v+1)
				return w
			}, port.ErrConflict)
		}
	}},
	{name: "read, decide, commit, again: no update is lost", run: func(s *suite) {
		first := creation("a")
		first.Record.Document = []byte("0")
		s.must(first)
		const each = 10
		together(s.options.Races, func(int) {
			for range each {
				s.increment("a")
			}
		})
		if got, want := string(s.load("a").Document), fmt.Sprint(s.options.Races*each); got != want {
			s.Errorf("counted to %s, want %s", got, want)
		}
	}},
	{name: "writers of different tasks do not meet", run: func(s *suite) {
		together(s.options.Races, func(i int) {
			id := fmt.Sprint("task-", i)
			if err := s.Store.Commit(s.ctx, []port.Write{creation(id)})[0]; err != nil {
				s.Errorf("create %q: %v", id, err)
			}
			for v := int64(1); v <= 20; v++ {
				if err := s.Store.Commit(s.ctx, []port.Write{replacement(id, v)})[0]; err != nil {
					s.Errorf("replace %q: %v", id, err)
				}
			}
		})
		for i := range s.options.Races {
			s.holds(record(fmt.Sprint("task-", i), 21))
		}
	}},
	{name: "batches that overlap: one winner a task", run: func(s *suite) {
		const tasks = 8
		errs := make([][]error, s.options.Races)
		together(s.options.Races, func(i int) {
			var writes []port.Write
			for n := range tasks {
				writes = append(writes, creation(fmt.Sprint("task-", (n+i)%tasks)))
			}
			errs[i] = s.Store.Commit(s.ctx, writes)
		})
		won := map[string]int{}
		for i := range errs {
			for n, err := range errs[i] {
				id := fmt.Sprint("task-", (n+i)%tasks)
				if err == nil {
					won[id]++
				} else {
					s.is("create "+id, err, port.ErrExists)
				}
			}
		}
		for n := range tasks {
			if id := fmt.Sprint("task-", n); won[id] != 1 {
				s.Errorf("%q was created %d times", id, won[id])
			}
		}
	}},
	{name: "a reader never sees a version twice as new as old", run: func(s *suite) {
		s.must(creation("a"))
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				var last int64
				for {
					select {
					case <-done:
						return
					default:
					}
					records, errs := s.Store.Load(s.ctx, []string{"a"})
					if errs[0] != nil || records[0] == nil || records[0].Version < last {
						s.Errorf("after version %d Load answers %+v, %v", last, records, errs)
						return
					}
					last = records[0].Version
					if want := record("a", last); difference(*records[0], want) != "" {
						s.Errorf("torn record: %s", difference(*records[0], want))
						return
					}
				}
			})
		}
		for v := int64(1); v <= 100; v++ {
			s.must(replacement("a", v))
		}
		close(done)
		readers.Wait()
	}},
}

// race commits one write of each writer at once and answers who won; the others must get that error.
func (s *suite) race(write func(i int) port.Write, loses error) int {
	s.Helper()
	n := s.options.Races
	errs := make([]error, n)
	together(n, func(i int) { errs[i] = s.Store.Commit(s.ctx, []port.Write{write(i)})[0] })
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won >= 0:
			s.Errorf("writers %d and %d both won", won, i)
		case err == nil:
			won = i
		default:
			s.is(fmt.Sprint("writer ", i), err, loses)
		}
	}
	if won < 0 {
		s.Fatalf("no writer won: %v", errs)
	}
	s.holds(write(won).Record)
	return won
}

// increment adds one to a number in a document, as every actor changes a task.
func (s *suite) increment(id string) {
	for {
		records, errs := s.Store.Load(s.ctx, []string{id})
		if errs[0] != nil {
			s.Errorf("Load: %v", errs[0])
			return
		}
		var n int
		if _, err := fmt.Sscan(string(records[0].Document), &n); err != nil {
			s.Errorf("document %q: %v", records[0].Document, err)
			return
		}
		next := *records[0]
		next.Version++
		next.Document = fmt.Append(nil, n+1)
		err := s.Store.Commit(s.ctx, []port.Write{{Record: next, Expected: next.Version - 1}})[0]
		if err == nil {
			return
		}
		if !errors.Is(err, port.ErrConflict) {
			s.Errorf("Commit: %v, want success or %v", err, port.ErrConflict)
			return
		}
	}
}

var lostCases = []testCase{
	{name: "cancelled in mid-commit: stored whole or not at all", run: func(s *suite) {
		const tasks = 64
		together(tasks, func(i int) {
			ctx, cancel := context.WithTimeout(s.ctx, time.Duration(i)*20*time.Microsecond)
			defer cancel()
			s.settleLost(ctx, creation(fmt.Sprint("task-", i)), port.ErrExists)
			ctx2, cancel2 := context.WithTimeout(s.ctx, time.Duration(i)*20*time.Microsecond)
			defer cancel2()
			s.settleLost(ctx2, replacement(fmt.Sprint("task-", i), 1), port.ErrConflict)
		})
		for i := range tasks {
			s.holds(record(fmt.Sprint("task-", i), 2))
		}
	}},
	{name: "cancelled: the bytes are the caller's again", run: func(s *suite) {
		together(32, func(i int) {
			ctx, cancel := context.WithTimeout(s.ctx, time.Duration(i)*10*time.Microsecond)
			defer cancel()
			w := creation(fmt.Sprint("task-", i))
			s.Store.Commit(ctx, []port.Write{w})
			clear(w.Record.Document)
			clear(w.Order.Body)
		})
		s.must(creation("fence")) // all that was handed over before is through by now
		for i := range 32 {
			if id := fmt.Sprint("task-", i); s.load(id) != nil {
				s.holds(record(id, 1))
			}
		}
	}},
}

// settleLost commits under a context that may end, and again while the answer is unknown. The
// second answer is success or a clean refusal, since the first one may have been stored.
func (s *suite) settleLost(ctx context.Context, w port.Write, refusal error) {
	err := s.Store.Commit(ctx, []port.Write{w})[0]
	if err == nil {
		return
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !errors.Is(err, port.ErrUnavailable) {
		s.Errorf("%q, with no other writer: %v", w.Record.ID, err)
	}
	if err := s.Store.Commit(s.ctx, []port.Write{w})[0]; err != nil {
		s.is(w.Record.ID+", again", err, refusal)
	}
}
