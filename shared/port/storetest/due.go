package storetest

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// far is later than every index time of the suite.
var far = at(1_000_000)

// dueOf lists a whole bucket, shard by shard, in pages of that size.
func (s *suite) dueOf(bucket port.Bucket, before time.Time, size int) ([]port.Due, error) {
	var all []port.Due
	for shard := range s.Store.Shards() {
		var after *port.Due
		for {
			page, err := s.Store.Due(s.ctx, bucket, shard, before, after, size)
			if err != nil {
				return nil, err
			}
			if len(page) > size {
				return nil, fmt.Errorf("%d entries, asked for %d", len(page), size)
			}
			all = append(all, page...)
			if len(page) < size {
				break
			}
			last := page[len(page)-1]
			after = &last
		}
	}
	return all, nil
}

// dueIs checks which tasks stand in a bucket.
func (s *suite) dueIs(bucket port.Bucket, ids ...string) {
	s.Helper()
	s.eventually(func() string {
		entries, err := s.dueOf(bucket, far, 100)
		if err != nil {
			return err.Error()
		}
		var got []string
		for _, d := range entries {
			got = append(got, d.ID)
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(ids))
		if !slices.Equal(got, want) {
			return fmt.Sprintf("bucket %q holds %v, want %v", bucket, got, want)
		}
		return ""
	})
}

// dueAt checks at what time the task stands in a bucket.
func (s *suite) dueAt(bucket port.Bucket, id string, want time.Time) {
	s.Helper()
	s.eventually(func() string {
		entries, err := s.dueOf(bucket, far, 100)
		if err != nil {
			return err.Error()
		}
		for _, d := range entries {
			if d.ID == id && d.At.Equal(want) {
				return ""
			}
		}
		return fmt.Sprintf("bucket %q holds %v, want %q at %v", bucket, entries, id, want)
	})
}

// put creates the task, or replaces it, in a bucket at a time.
func (s *suite) put(id string, expected int64, bucket port.Bucket, when time.Time) {
	s.Helper()
	w := replacement(id, expected)
	if expected == 0 {
		w.Order = order(id)
	}
	w.Record.Bucket, w.Record.IndexAt = bucket, when
	s.must(w)
}

var dueCases = []testCase{
	{name: "at least one shard, always the same", run: func(s *suite) {
		n := s.Store.Shards()
		s.must(creation("a"))
		if n < 1 || s.Store.Shards() != n {
			s.Errorf("%d shards, then %d", n, s.Store.Shards())
		}
	}},
	{name: "a task stands in the shard of its ID", run: func(s *suite) {
		for i := range 50 {
			s.put(fmt.Sprint("task-", i), 0, port.DueBucket, at(i))
		}
		s.eventually(func() string {
			found := 0
			for shard := range s.Store.Shards() {
				page, err := s.Store.Due(s.ctx, port.DueBucket, shard, far, nil, 100)
				if err != nil {
					return err.Error()
				}
				for _, d := range page {
					h := fnv.New32a()
					h.Write([]byte(d.ID))
					if want := int(h.Sum32() % uint32(s.Store.Shards())); shard != want {
						return fmt.Sprintf("%q stands in shard %d, FNV-1a says %d", d.ID, shard, want)
					}
					found++
				}
			}
			if found != 50 {
				return fmt.Sprintf("%d entries, want 50", found)
			}
			return ""
		})
	}},
	{name: "nothing is due in an empty store", run: func(s *suite) {
		s.dueIs(port.DueBucket)
		s.dueIs(port.AttentionBucket)
	}},
	{name: "at or before the time, not after", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(10))
		for _, c := range []struct {
			before time.Time
			want   int
		}{{at(9), 0}, {at(10).Add(-time.Millisecond), 0}, {at(10), 1}, {at(11), 1}} {
			s.eventually(func() string {
				if got, err := s.dueOf(port.DueBucket, c.before, 10); err != nil || len(got) != c.want {
					return fmt.Sprintf("before %v: %v (%v), want %d", c.before, got, err, c.want)
				}
				return ""
			})
		}
	}},
	{name: "earliest first, equal times by ID, in pages of any size", run: func(s *suite) {
		for i := range 40 {
			s.put(fmt.Sprint("task-", i), 0, port.DueBucket, at(i*7%11))
		}
		for _, size := range []int{1, 2, 3, 7, 40, 1000} {
			s.eventually(func() string { return s.sortedDue(size, 40) })
		}
	}},
	{name: "pages go on after an entry that has gone", run: func(s *suite) {
		ids := s.oneShard(6)
		for i, id := range ids {
			s.put(id, 0, port.DueBucket, at(i))
		}
		shard := port.ShardOf(ids[0], s.Store.Shards())
		s.dueIs(port.DueBucket, ids...)
		after := port.Due{ID: ids[2], At: at(2)}
		s.put(ids[2], 1, port.NoBucket, time.Time{})
		s.eventually(func() string {
			page, err := s.Store.Due(s.ctx, port.DueBucket, shard, far, &after, 10)
			if err != nil || len(page) != 3 || page[0].ID != ids[3] {
				return fmt.Sprintf("after %v: %v, %v", after, page, err)
			}
			return ""
		})
	}},
	{name: "buckets are apart", run: func(s *suite) {
		s.put("due", 0, port.DueBucket, at(1))
		s.put("attention", 0, port.AttentionBucket, at(1))
		s.put("rest", 0, port.NoBucket, time.Time{})
		s.dueIs(port.DueBucket, "due")
		s.dueIs(port.AttentionBucket, "attention")
	}},
	{name: "a task moves from bucket to bucket and out (P9)", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(1))
		s.put("a", 1, port.AttentionBucket, at(2))
		s.dueIs(port.DueBucket)
		s.dueIs(port.AttentionBucket, "a")
		s.put("a", 2, port.DueBucket, at(3))
		s.dueIs(port.AttentionBucket)
		s.dueAt(port.DueBucket, "a", at(3))
		s.put("a", 3, port.NoBucket, time.Time{})
		s.dueIs(port.DueBucket)
		s.dueIs(port.AttentionBucket)
		s.put("a", 4, port.DueBucket, at(4))
		s.dueAt(port.DueBucket, "a", at(4))
	}},
	{name: "the due time moves either way", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(100))
		s.put("a", 1, port.DueBucket, at(50))
		s.dueAt(port.DueBucket, "a", at(50))
		s.put("a", 2, port.DueBucket, at(500))
		s.dueAt(port.DueBucket, "a", at(500))
		s.dueIs(port.DueBucket, "a")
	}},
	{name: "the lazy due time stays while versions pass", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(5))
		for v := int64(1); v < 10; v++ {
			s.put("a", v, port.DueBucket, at(5))
		}
		s.dueAt(port.DueBucket, "a", at(5))
		s.dueIs(port.DueBucket, "a")
	}},
	{name: "state and bucket change alone or together", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(5))
		for v, change := range []struct {
			state  string
			bucket port.Bucket
			at     int
		}{{"Compensating", port.DueBucket, 5}, {"Compensating", port.DueBucket, 9}, {"Error", port.AttentionBucket, 9}, {"Processing", port.DueBucket, 9}, {"Processed", port.NoBucket, 0}} {
			w := replacement("a", int64(v+1))
			w.Record.State, w.Record.Bucket, w.Record.IndexAt = change.state, change.bucket, at(change.at)
			s.must(w)
			s.holds(w.Record)
			for _, b := range []port.Bucket{port.DueBucket, port.AttentionBucket} {
				if b == change.bucket {
					s.dueAt(b, "a", at(change.at))
				} else {
					s.dueIs(b)
				}
			}
		}
	}},
	{name: "a refused write leaves the index", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(5))
		w := replacement("a", 7)
		w.Record.Bucket = port.NoBucket
		s.is("replace", s.commit1(w), port.ErrConflict)
		s.is("create", s.commit1(port.Write{Record: port.Record{ID: "a", Version: 1}, Order: order("a")}), port.ErrExists)
		s.dueAt(port.DueBucket, "a", at(5))
	}},
	{name: "a limit below one is nothing", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(5))
		if page, _ := s.Store.Due(s.ctx, port.DueBucket, port.ShardOf("a", s.Store.Shards()), far, nil, 0); len(page) != 0 {
			s.Errorf("limit 0 answers %v", page)
		}
	}},
	{name: "racing moves leave one entry", run: func(s *suite) {
		s.put("a", 0, port.DueBucket, at(5))
		for v := int64(1); v <= 10; v++ {
			together(s.options.Races, func(i int) {
				w := replacement("a", v)
				w.Record.IndexAt = at(100 + i)
				s.Store.Commit(s.ctx, []port.Write{w})
			})
		}
		s.dueIs(port.DueBucket, "a")
		s.dueAt(port.DueBucket, "a", s.load("a").IndexAt)
	}},
}

// sortedDue says what is wrong with the order of the index, read in pages of that size.
func (s *suite) sortedDue(size, want int) string {
	total := 0
	for shard := range s.Store.Shards() {
		var last *port.Due
		for {
			page, err := s.Store.Due(s.ctx, port.DueBucket, shard, far, last, size)
			if err != nil {
				return err.Error()
			}
			for _, d := range page {
				if last != nil && (d.At.Before(last.At) || d.At.Equal(last.At) && strings.Compare(d.ID, last.ID) <= 0) {
					return fmt.Sprintf("pages of %d: %v comes after %v", size, d, *last)
				}
				last = &d
				total++
			}
			if len(page) < size {
				break
			}
		}
	}
	if total != want {
		return fmt.Sprintf("pages of %d: %d entries, want %d", size, total, want)
	}
	return ""
}

// oneShard gives n IDs that stand in the same shard, sorted.
func (s *suite) oneShard(n int) []string {
	var ids []string
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprintf("task-%05d", i); port.ShardOf(id, s.Store.Shards()) == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}
