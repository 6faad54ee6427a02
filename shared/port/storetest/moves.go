package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// moveCases: from every bucket to every other, and to a later and an earlier time (P9, P11).
func moveCases() []testCase {
	type place struct {
		name   string
		bucket port.Bucket
		at     int
	}
	places := []place{{"due", port.DueBucket, 50}, {"due later", port.DueBucket, 90}, {"attention", port.AttentionBucket, 50}, {"no bucket", port.NoBucket, 0}}
	stands := func(s *suite, p place) {
		s.Helper()
		for _, b := range []port.Bucket{port.DueBucket, port.AttentionBucket} {
			if b == p.bucket {
				s.dueIs(b, "a")
				s.dueAt(b, "a", at(p.at))
			} else {
				s.dueIs(b)
			}
		}
	}
	var cases []testCase
	for _, from := range places {
		for _, to := range places {
			cases = append(cases, testCase{name: "from " + from.name + " to " + to.name, run: func(s *suite) {
				s.put("a", 0, from.bucket, at(from.at))
				stands(s, from)
				s.put("a", 1, to.bucket, at(to.at))
				stands(s, to)
				w := replacement("a", 1) // refused: nothing moves
				w.Record.Bucket, w.Record.IndexAt = port.AttentionBucket, at(1)
				s.is("an old write", s.commit1(w), port.ErrConflict)
				stands(s, to)
			}})
		}
	}
	return cases
}

// pageCases: where a page of the index begins and ends.
func pageCases() []testCase {
	// Six tasks of one shard: two at 1 s, two at 2 s, two at 3 s.
	var cases []testCase
	for _, c := range []struct {
		name   string
		before int
		after  func(ids []string) *port.Due
		limit  int
		want   []int
	}{
		{"from the beginning", 9, nil, 10, []int{0, 1, 2, 3, 4, 5}},
		{"a limit in the middle of a moment", 9, nil, 3, []int{0, 1, 2}},
		{"a limit at the end of a moment", 9, nil, 4, []int{0, 1, 2, 3}},
		{"one entry", 9, nil, 1, []int{0}},
		{"the limit is the number of entries", 9, nil, 6, []int{0, 1, 2, 3, 4, 5}},
		{"before the first", 0, nil, 10, nil},
		{"up to a moment, included", 2, nil, 10, []int{0, 1, 2, 3}},
		{"after the first of a moment", 9, func(ids []string) *port.Due { return &port.Due{ID: ids[2], At: at(2)} }, 10, []int{3, 4, 5}},
		{"after the last of a moment", 9, func(ids []string) *port.Due { return &port.Due{ID: ids[3], At: at(2)} }, 10, []int{4, 5}},
		{"after the last of all", 9, func(ids []string) *port.Due { return &port.Due{ID: ids[5], At: at(3)} }, 10, nil},
		{"after a time that nothing has", 9, func([]string) *port.Due { return &port.Due{ID: "x", At: at(2).Add(time.Millisecond)} }, 10, []int{4, 5}},
		{"after an ID that nothing has", 9, func([]string) *port.Due { return &port.Due{ID: "0", At: at(2)} }, 10, []int{2, 3, 4, 5}},
		{"after what is later than before", 1, func([]string) *port.Due { return &port.Due{ID: "0", At: at(2)} }, 10, nil},
		{"after and before at one moment", 2, func(ids []string) *port.Due { return &port.Due{ID: ids[2], At: at(2)} }, 10, []int{3}},
	} {
		cases = append(cases, testCase{name: "a page " + c.name, run: func(s *suite) {
			ids := s.oneShard(6)
			for i := range ids {
				s.put(ids[len(ids)-1-i], 0, port.DueBucket, at((len(ids)-1-i)/2+1))
			}
			var after *port.Due
			if c.after != nil {
				after = c.after(ids)
			}
			var want []string
			for _, i := range c.want {
				want = append(want, ids[i])
			}
			s.eventually(func() string {
				page, err := s.Store.Due(s.ctx, port.DueBucket, port.ShardOf(ids[0], s.Store.Shards()), at(c.before), after, c.limit)
				var got []string
				for _, d := range page {
					got = append(got, d.ID)
				}
				if err != nil || !slices.Equal(got, want) {
					return fmt.Sprintf("%v (%v), want %v of %v", got, err, want, ids)
				}
				return ""
			})
		}})
	}
	return cases
}
