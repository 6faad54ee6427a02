package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// together starts n goroutines at the same moment and waits for all.
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

// together lets each of the suite's racers execute an operation, at the same moment, and counts the results.
func (s *suite) together(do func(i int) operation) map[string]int {
	var mu sync.Mutex
	answers := map[string]int{}
	together(races, func(i int) {
		answer := do(i)(s.ctx, s.Backends)
		mu.Lock()
		defer mu.Unlock()
		answers[answer]++
	})
	return answers
}

// raceCases tests what Linearizable does not: batches, the index, and many writers of one version.
var raceCases = []testCase{
	{name: "submissions and tombstones race: one is there, whole (P17)", run: func(s *suite) {
		for round := range 10 {
			id := fmt.Sprint("task-", round)
			won := s.race(func(i int) port.Write {
				if i%2 == 0 {
					return write(id, 0, holding(fmt.Appendf(nil, `{"by":%d}`, i)), tombstone)
				}
				return write(id, 0, holding(fmt.Appendf(nil, `{"by":%d}`, i)), apart(fmt.Append(nil, i)))
			}, port.ErrExists)
			content := fmt.Append(nil, won)
			if kept, err := s.Store.Content(s.ctx, id, hashOf(content)); won%2 == 1 &&
				(err != nil || string(kept) != string(content)) {
				s.Errorf("writer %d won, the content is %s, %v", won, kept, err)
			}
		}
	}},
	{name: "one replace wins each version, and leaves one entry of the index", run: func(s *suite) {
		s.answers(commits(write("a", 0)), "success")
		for v := int64(1); v <= 20; v++ {
			won := s.race(func(i int) port.Write {
				return write("a", v, in(port.DueBucket, at(100+i)))
			}, port.ErrConflict)
			s.model.Store.Commit(s.ctx,
				[]port.Write{write("a", 0), write("a", v, in(port.DueBucket, at(100+won)))})
			s.soon(readsDue(port.DueBucket, far, 100))
		}
	}},
	{
		name: "batches that overlap: one winner a task, and who sees it sees its content (invariant 2)",
		run: func(s *suite) {
			const tasks = 8
			var readers sync.WaitGroup
			done := make(chan struct{})
			readers.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-done:
						return
					default:
					}
					id := fmt.Sprint("task-", n%tasks)
					if records, errs := s.Store.Load(s.ctx, []string{id}); errs[0] != nil &&
						!errors.Is(errs[0], port.ErrUnavailable) {
						s.Errorf("Load: %v", errs[0])
					} else if _, err := s.Store.Content(s.ctx, id, hashOf(usual(id))); records[0] != nil &&
						err != nil && !errors.Is(err, port.ErrUnavailable) {
						s.Errorf("task %q is there, its content: %v", id, err)
					}
				}
			})
			won := 0
			for answer, n := range s.together(func(i int) operation {
				var writes []port.Write
				for n := range tasks {
					writes = append(writes, write(fmt.Sprint("task-", (n+i)%tasks), 0))
				}
				return func(context.Context, Backends) string {
					var classes []string
					for _, err := range s.committed(writes...) {
						classes = append(classes, class(err))
					}
					return strings.Join(classes, ", ")
				}
			}) {
				for _, class := range strings.Split(answer, ", ") {
					switch class {
					case "success":
						won += n
					case port.ErrExists.Error():
					default:
						s.Errorf("%s", class)
					}
				}
			}
			close(done)
			readers.Wait()
			require.Equal(s, tasks, won)
		},
	},
	{name: "the index, read while tasks move, names none twice in a page", run: func(s *suite) {
		done := make(chan struct{})
		var reader sync.WaitGroup
		reader.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got := readsDue(port.DueBucket, far, 100)(s.ctx, s.Backends); !strings.HasPrefix(got,
					"map") && !s.options.StaleIndex {
					s.Errorf("%s", got)
					return
				}
			}
		})
		for v := range int64(20) {
			for i := range 8 {
				s.commit(write(fmt.Sprint("task-", i), v, in(port.DueBucket, at(int(v)*7%13+i))))
			}
		}
		close(done)
		reader.Wait()
		s.soon(readsDue(port.DueBucket, far, 3))
	}},
	{
		name: "cancelled in mid-commit: stored whole or not at all, and the bytes are the caller's again",
		run: func(s *suite) {
			const tasks = 64
			together(tasks, func(i int) {
				id := fmt.Sprint("task-", i)
				for expected, refusal := range []error{port.ErrExists, port.ErrConflict} {
					ctx, cancel := context.WithTimeout(s.ctx, time.Duration(i)*20*time.Microsecond)
					s.settleLost(ctx, write(id, int64(expected)), refusal)
					cancel()
				}
				ctx, cancel := context.WithTimeout(s.ctx, time.Duration(i)*10*time.Microsecond)
				defer cancel()
				w := write(id, 2)
				s.Store.Commit(ctx, []port.Write{w})
				clear(w.Record.Document)
			})
			// everything passed to the adapter before is done by now
			s.answers(commits(write("fence", 0)), "success")
			for i := range tasks {
				id := fmt.Sprint("task-", i)
				second := write(id, 1).Record
				third := write(id, 2).Record
				if got := loads(id)(s.ctx, s.Backends); got != "success "+show(&second) &&
					got != "success "+show(&third) {
					s.Errorf("%s", got)
				}
			}
		},
	},
	{name: "a context that has ended stores nothing in silence", run: func(s *suite) {
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		if errs := s.Store.Commit(ctx, []port.Write{write("a", 0)}); errs[0] == nil {
			s.holds(write("a", 0).Record)
		}
		records, errs := s.Store.Load(ctx, []string{"a", "b"})
		for i, err := range slices.Concat(errs, make([]error, 2-len(errs))) {
			if err != nil && (!errors.Is(err, context.Canceled) || records[i] != nil) {
				s.Errorf("Load: %v, %v, want the context's error and no record", records[i], err)
			}
		}
	}},
}

// committed commits, and repeats writes that the store had no capacity for, which are not stored. On a slow
// emulator, transactions on one record that overlap for long end like that (rule 10).
func (s *suite) committed(writes ...port.Write) []error {
	errs := s.Store.Commit(s.ctx, writes)
	for range 20 {
		for i, err := range errs {
			if errors.Is(err, port.ErrUnavailable) {
				errs[i] = s.Store.Commit(s.ctx, writes[i:i+1])[0]
			}
		}
	}
	return errs
}

// race commits one write of each writer at once and returns the winner. The others must get the error loses.
func (s *suite) race(write func(i int) port.Write, loses error) int {
	s.Helper()
	errs := make([]error, races)
	together(len(errs), func(i int) { errs[i] = s.committed(write(i))[0] })
	won := slices.Index(errs, nil)
	for i, err := range errs {
		if i != won && !errors.Is(err, loses) {
			s.Errorf("writer %d: %v, want %v", i, err, loses)
		}
	}
	require.GreaterOrEqual(s, won, 0, "no writer won")
	s.holds(write(won).Record)
	return won
}

// settleLost commits under a context that may end, and again while the answer is unknown. The
// second answer is success or a clean refusal, since the first one may have been stored.
func (s *suite) settleLost(ctx context.Context, w port.Write, refusal error) {
	err := s.Store.Commit(ctx, []port.Write{w})[0]
	if err == nil {
		return
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, port.ErrUnavailable) {
		s.Errorf("%q, with no other writer: %v", w.Record.ID, err)
	}
	if err := s.Store.Commit(s.ctx, []port.Write{w})[0]; err != nil && !errors.Is(err, refusal) {
		s.Errorf("%q, again: %v, want %v", w.Record.ID, err, refusal)
	}
}
