package queuetest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var deadCases = []testCase{
	{name: "dead after three receives", queue: retry, run: func(s *suite, q port.Queue) {
		s.send(q, "poison")
		for n := 1; n <= 3; n++ {
			require.Equal(s, n, s.one(q, s.unit).Received)
			s.none(s.queue(dead))
			s.pass(s.unit)
		}
		s.none(q)
		s.bodiesAre(s.take(s.queue(dead), 1, long), "poison")
		s.pass(2 * s.unit)
		s.none(q)
	}},
	{name: "returned counts as received", queue: retry, run: func(s *suite, q port.Queue) {
		s.send(q, "poison")
		for range 3 {
			s.is("return", s.extend(q, s.one(q, long).Receipt, 0), nil)
		}
		s.none(q)
		s.bodiesAre(s.take(s.queue(dead), 1, long), "poison")
	}},
	{name: "it keeps no others back", queue: retry, run: func(s *suite, q port.Queue) {
		s.send(q, "poison")
		for range 3 {
			s.one(q, s.unit)
			s.pass(s.unit)
		}
		s.send(q, "good", "better")
		s.bodiesAre(s.take(q, 2, long), "better", "good")
		s.none(q)
		s.bodiesAre(s.take(s.queue(dead), 1, long), "poison")
	}},
	{name: "deleted at the last receive", queue: retry, run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		for range 2 {
			s.one(q, s.unit)
			s.pass(s.unit)
		}
		s.is("delete", s.remove(q, s.one(q, s.unit).Receipt), nil)
		s.pass(s.unit)
		s.none(q)
		s.none(s.queue(dead))
	}},
	{name: "many die at once", queue: retry, run: func(s *suite, q port.Queue) {
		var want []string
		for i := range 25 {
			want = append(want, fmt.Sprint("poison ", i))
		}
		s.send(q, want...)
		for range 3 {
			s.take(q, 25, 5*s.unit)
			s.pass(6 * s.unit)
		}
		for range 4 {
			s.none(q)
		}
		s.bodiesAre(s.take(s.queue(dead), 25, long), want...)
		s.none(q)
	}},
	{name: "a long poll is woken by a dead letter", queue: retry, run: func(s *suite, q port.Queue) {
		s.send(q, "poison")
		for range 3 {
			s.one(q, s.unit)
			s.pass(s.unit)
		}
		poll := s.poll(s.ctx, s.queue(dead), 20*s.unit)
		s.none(q)
		s.bodiesAre(s.answered(poll).deliveries, "poison")
	}},
}

var limitCases = []testCase{
	{name: "a queue without dead letters repeats for ever", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		for n := 1; n <= 40; n++ {
			require.Equal(s, n, s.one(q, 0).Received)
		}
		s.is("delete", s.remove(q, s.one(q, long).Receipt), nil)
	}},
	{name: "old messages expire", needs: retentions, queue: retained, run: func(s *suite, q port.Queue) {
		s.send(q, "old")
		s.pass(15 * s.unit)
		s.send(q, "young")
		s.pass(5 * s.unit)
		s.bodiesAre(s.take(q, 1, long), "young")
		s.none(q)
	}},
	{name: "many old messages expire", needs: retentions, queue: retained, run: func(s *suite, q port.Queue) {
		for i := range 70 {
			messages := make([]port.Message, port.MaxBatch)
			for j := range messages {
				messages[j] = text(fmt.Sprint("old ", i, j))
			}
			s.sendMessage(q, messages...)
		}
		s.pass(20 * s.unit)
		s.none(q)
		s.send(q, "young")
		s.bodiesAre(s.take(q, 1, long), "young")
	}},
	{
		name: "a redelivery does not make young", needs: retentions, queue: retained,
		run: func(s *suite, q port.Queue) {
			s.send(q, "old")
			s.one(q, 15*s.unit)
			s.pass(25 * s.unit)
			s.none(q)
		},
	},
}

var depthCases = []testCase{
	{name: "visible, in flight, delayed", needs: exactDepth, run: func(s *suite, q port.Queue) {
		s.depthIs(q, port.Depth{})
		s.send(q, "a", "b", "c")
		s.sendMessage(q, port.Message{Body: []byte("late"), Delay: 5 * s.unit})
		s.depthIs(q, port.Depth{Visible: 3, Delayed: 1})
		d := s.one(q, 2*s.unit)
		s.depthIs(q, port.Depth{Visible: 2, InFlight: 1, Delayed: 1})
		s.is("delete", s.remove(q, d.Receipt), nil)
		s.one(q, 2*s.unit)
		s.depthIs(q, port.Depth{Visible: 1, InFlight: 1, Delayed: 1})
		s.pass(5 * s.unit)
		s.depthBecomes(q, port.Depth{Visible: 3})
	}},
	{name: "a context that has ended", run: func(s *suite, q port.Queue) {
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		_, err := q.Depth(ctx)
		require.Error(s, err)
	}},
	{name: "age of the oldest", needs: exactDepth, run: func(s *suite, q port.Queue) {
		s.send(q, "old")
		s.pass(5 * s.unit)
		s.send(q, "young")
		d, err := q.Depth(s.ctx)
		if err != nil || d.Oldest != 0 && (d.Oldest < 5*s.unit || d.Oldest > 6*s.unit) {
			s.Errorf("the oldest message is %s old (%v), want %s", d.Oldest, err, 5*s.unit)
		}
	}},
	{name: "a deleted message that was visible again", needs: func(o Options) bool {
		return o.ExactDepth &&
			o.LateDelete
	}, run: func(s *suite, q port.Queue) {
		s.send(q, "a", "b")
		got := s.take(q, 2, s.unit)
		s.pass(2 * s.unit)
		s.is("delete", s.remove(q, got[0].Receipt), nil)
		s.depthIs(q, port.Depth{Visible: 1})
	}},
	{name: "expired messages do not count", needs: func(o Options) bool {
		return o.Retentions && o.ExactDepth
	}, queue: retained, run: func(s *suite, q port.Queue) {
		s.send(q, "a", "b")
		s.pass(30 * s.unit)
		s.depthIs(q, port.Depth{})
	}},
}

// depthIs checks the counts; the age is the tests' own business.
func (s *suite) depthIs(q port.Queue, want port.Depth) {
	s.Helper()
	s.depthWithin(q, want, 0)
}

// depthBecomes is for what has been delayed: in real time a service moves it when it gets to it, which
// it has to do within one unit.
func (s *suite) depthBecomes(q port.Queue, want port.Depth) {
	s.Helper()
	tries := 10
	if s.Advance != nil {
		tries = 0
	}
	s.depthWithin(q, want, tries)
}

func (s *suite) depthWithin(q port.Queue, want port.Depth, tries int) {
	s.Helper()
	for ; ; tries-- {
		got, err := q.Depth(s.ctx)
		got.Oldest = time.Duration(0)
		switch {
		case err == nil && got == want:
			return
		case tries <= 0:
			s.Errorf("depth is %+v (%v), want %+v", got, err, want)
			return
		}
		time.Sleep(s.unit / 10)
	}
}
