package storetest

import (
	"fmt"
	"sync/atomic"
	"time"
)

var leaseCases = need(hasLeases, []testCase{
	{name: "free, held, expired", run: func(s *suite) {
		const ttl = 30 * time.Second
		for _, step := range []struct {
			owner string
			now   time.Time
			want  bool
		}{
			{"a", at(0), true}, {"b", at(1), false}, {"b", at(29), false},
			{"b", at(31), true}, {"a", at(32), false}, {"a", at(62), true},
		} {
			s.acquire("shard-1", step.owner, step.now, ttl, step.want)
		}
	}},
	{name: "the owner renews its own", run: func(s *suite) {
		s.acquire("l", "a", at(0), 10*time.Second, true)
		s.acquire("l", "a", at(8), 10*time.Second, true)
		s.acquire("l", "b", at(12), 10*time.Second, false)
		s.acquire("l", "b", at(18).Add(-time.Millisecond), 10*time.Second, false)
		s.acquire("l", "b", at(18), 10*time.Second, true)
	}},
	{name: "an owner takes back what has expired", run: func(s *suite) {
		s.acquire("l", "a", at(0), time.Second, true)
		s.acquire("l", "a", at(100), time.Second, true)
		s.acquire("l", "b", at(100), time.Second, false)
	}},
	{name: "leases are apart", run: func(s *suite) {
		s.acquire("l1", "a", at(0), time.Minute, true)
		s.acquire("l2", "b", at(0), time.Minute, true)
		s.acquire("l1", "b", at(0), time.Minute, false)
	}},
	{name: "a shorter renewal counts", run: func(s *suite) {
		s.acquire("l", "a", at(0), time.Hour, true)
		s.acquire("l", "a", at(1), time.Second, true)
		s.acquire("l", "b", at(5), time.Second, true)
	}},
	{name: "one of many gets it", run: func(s *suite) {
		for round := range 10 {
			var got atomic.Int32
			together(s.options.Races, func(i int) {
				ok, err := s.Leases.Acquire(s.ctx, "l", fmt.Sprint("owner-", i), at(round*60), 30*time.Second)
				if err != nil {
					s.Errorf("owner %d: %v", i, err)
				}
				if ok {
					got.Add(1)
				}
			})
			if got.Load() != 1 {
				s.Fatalf("round %d: %d owners have the lease", round, got.Load())
			}
		}
	}},
})

func (s *suite) acquire(name, owner string, now time.Time, ttl time.Duration, want bool) {
	s.Helper()
	got, err := s.Leases.Acquire(s.ctx, name, owner, now, ttl)
	if err != nil || got != want {
		s.Fatalf("%s acquires %s at %v: %v (%v), want %v", owner, name, now, got, err, want)
	}
}
