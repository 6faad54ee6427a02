package queuetest_test

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var visibilityCases = []testCase{
	{name: "invisible for its time, then visible again", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		s.one(q, 3*s.unit)
		s.none(q)
		s.pass(2 * s.unit)
		s.none(q)
		s.pass(s.unit)
		s.bodiesAre(s.take(q, 1, long), "a")
	}},
	{name: "a visibility timeout of nothing", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		first := s.one(q, 0)
		second := s.one(q, long)
		require.Equal(s, second.ID, first.ID)
		require.Equal(s, 2, second.Received)
	}},
	{name: "extended from now on", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		d := s.one(q, 3*s.unit)
		s.pass(2 * s.unit)
		s.is("extend", s.extend(q, d.Receipt, 4*s.unit), nil)
		s.pass(3 * s.unit)
		s.none(q)
		s.pass(s.unit)
		s.one(q, long)
	}},
	{name: "shortened", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		d := s.one(q, long)
		s.is("extend", s.extend(q, d.Receipt, s.unit), nil)
		s.none(q)
		s.pass(s.unit)
		s.one(q, long)
	}},
	{name: "returned at once", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		d := s.one(q, long)
		s.is("extend", s.extend(q, d.Receipt, 0), nil)
		again := s.one(q, long)
		require.Equal(s, d.ID, again.ID)
		require.Equal(s, 2, again.Received)
		s.is("extend by the first receiver", s.extend(q, d.Receipt, long), port.ErrReceipt)
	}},
	{name: "an old receipt extends nothing", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		old := s.one(q, s.unit)
		s.pass(s.unit)
		s.one(q, s.unit)
		s.is("extend", s.extend(q, old.Receipt, long), port.ErrReceipt)
		s.pass(s.unit)
		s.one(q, long)
	}},
	{name: "a message that is visible again cannot be extended", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		for i := range 2 {
			d := s.one(q, s.unit)
			s.pass(s.unit)
			if i > 0 { // whether or not the queue has looked at it since
				_, err := q.Depth(s.ctx)
				require.NoError(s, err)
			}
			s.is("extend", s.extend(q, d.Receipt, long), port.ErrReceipt)
			require.Equal(s, i+1, d.Received)
		}
		s.one(q, long)
	}},
	{name: "a deleted message cannot be extended", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		d := s.one(q, long)
		s.is("delete", s.remove(q, d.Receipt), nil)
		s.is("extend", s.extend(q, d.Receipt, 0), port.ErrReceipt)
		s.none(q)
	}},
	{name: "strange extensions are refused", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		d := s.one(q, long)
		for _, by := range []time.Duration{-time.Second, port.MaxVisibility + time.Second} {
			require.Error(s, s.extend(q, d.Receipt, by), "%+v", by)
		}
		s.is("nonsense", s.extend(q, "nonsense", time.Second), port.ErrReceipt)
		s.none(q)
	}},
}

var delayCases = []testCase{
	{name: "it reports when it was sent", run: func(s *suite, q port.Queue) {
		s.send(q, "first")
		s.pass(5 * s.unit)
		s.send(q, "second")
		sent := map[string]time.Time{}
		for _, d := range s.take(q, 2, long) {
			sent[s.bodies([]port.Delivery{d})[0]] = d.SentAt
		}
		if apart := sent["second"].Sub(sent["first"]); apart < 5*s.unit || s.Advance != nil &&
			apart != 5*s.unit {
			s.Errorf("sent %s apart, want %s", apart, 5*s.unit)
		}
	}},
	{name: "invisible until its delay has passed", run: func(s *suite, q port.Queue) {
		s.sendMessage(q, port.Message{Body: []byte("late"), Delay: 3 * s.unit}, text("now"))
		s.bodiesAre(s.take(q, 1, long), "now")
		s.pass(2 * s.unit)
		s.none(q)
		s.pass(s.unit)
		d := s.one(q, long)
		s.bodiesAre([]port.Delivery{d}, "late")
		require.Equal(s, 1, d.Received)
		require.Zero(s, d.Delay)
	}},
	{name: "delays of one batch are apart", run: func(s *suite, q port.Queue) {
		s.sendMessage(q, port.Message{Body: []byte("two"), Delay: 4 * s.unit},
			port.Message{Body: []byte("one"), Delay: 2 * s.unit})
		s.pass(2 * s.unit)
		s.bodiesAre(s.take(q, 1, long), "one")
		s.none(q)
		s.pass(2 * s.unit)
		s.bodiesAre(s.take(q, 1, long), "two")
	}},
	{name: "a redelivery has no delay", run: func(s *suite, q port.Queue) {
		s.sendMessage(q, port.Message{Body: []byte("a"), Delay: 2 * s.unit})
		s.pass(2 * s.unit)
		d := s.one(q, long)
		s.is("return", s.extend(q, d.Receipt, 0), nil)
		s.one(q, long)
	}},
}

var pollCases = []testCase{
	{name: "wakes up on send", run: func(s *suite, q port.Queue) {
		poll := s.poll(s.ctx, q, 20*s.unit)
		s.waiting(poll)
		s.send(q, "a")
		s.bodiesAre(s.answered(poll).deliveries, "a")
	}},
	{name: "ends with nothing when the wait is over", run: func(s *suite, q port.Queue) {
		poll := s.poll(s.ctx, q, 3*s.unit)
		s.waiting(poll)
		s.pass(3 * s.unit)
		a := s.answered(poll)
		require.NoError(s, a.err)
		require.Empty(s, a.deliveries)
	}},
	{name: "ends with its context", run: func(s *suite, q port.Queue) {
		ctx, cancel := context.WithCancel(s.ctx)
		poll := s.poll(ctx, q, 20*s.unit)
		s.waiting(poll)
		cancel()
		if a := s.answered(poll); len(a.deliveries) != 0 || a.err != nil &&
			!errors.Is(a.err, context.Canceled) {
			s.Errorf("ends with %v, %v", a.deliveries, a.err)
		}
		if s.options.LosesPolls {
			s.forgotten()
		}
		s.send(q, "a")
		s.bodiesAre(s.take(q, 1, long), "a")
	}},
	{name: "answers at once what is there", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		got, err := q.Receive(s.ctx, port.MaxBatch, 20*s.unit, long)
		require.NoError(s, err)
		s.bodiesAre(got, "a")
	}},
	{name: "wakes up when a delay has passed", run: func(s *suite, q port.Queue) {
		s.sendMessage(q, port.Message{Body: []byte("a"), Delay: 2 * s.unit})
		poll := s.poll(s.ctx, q, 20*s.unit)
		s.waiting(poll)
		s.pass(2 * s.unit)
		s.bodiesAre(s.answered(poll).deliveries, "a")
	}},
	{name: "wakes up for a delayed message that was sent meanwhile", run: func(s *suite, q port.Queue) {
		poll := s.poll(s.ctx, q, 20*s.unit)
		s.sendMessage(q, port.Message{Body: []byte("later"), Delay: 9 * s.unit})
		s.sendMessage(q, port.Message{Body: []byte("sooner"), Delay: 2 * s.unit})
		s.waiting(poll)
		s.settleTimers()
		s.pass(2 * s.unit)
		s.bodiesAre(s.answered(poll).deliveries, "sooner")
	}},
	{name: "wakes up when a visibility timeout has passed", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		s.one(q, 2*s.unit)
		poll := s.poll(s.ctx, q, 20*s.unit)
		s.waiting(poll)
		s.pass(2 * s.unit)
		s.bodiesAre(s.answered(poll).deliveries, "a")
	}},
	{name: "wakes up when a message is returned to the queue", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		d := s.one(q, long)
		poll := s.poll(s.ctx, q, 20*s.unit)
		s.waiting(poll)
		s.is("return", s.extend(q, d.Receipt, 0), nil)
		s.bodiesAre(s.answered(poll).deliveries, "a")
	}},
	{name: "two polls, two messages", run: func(s *suite, q port.Queue) {
		first := s.poll(s.ctx, q, 20*s.unit)
		second := s.poll(s.ctx, q, 20*s.unit)
		s.send(q, "a")
		if s.firstAnswered(first, second) == 1 {
			first, second = second, first
		}
		s.send(q, "b")
		s.bodiesAre(append(s.answered(first).deliveries, s.answered(second).deliveries...), "a", "b")
	}},
	{
		name:  "a poll that was given up takes no message along",
		needs: func(o Options) bool { return !o.LosesPolls }, run: func(s *suite, q port.Queue) {
			for range 50 {
				ctx, cancel := context.WithCancel(s.ctx)
				given := s.poll(ctx, q, 20*s.unit)
				kept := s.poll(s.ctx, q, 20*s.unit)
				go cancel()
				s.send(q, "a")
				a := s.answered(given)
				if len(a.deliveries) == 1 { // it was faster than its end
					s.is("return", s.extend(q, a.deliveries[0].Receipt, 0), nil)
				}
				got := s.answered(kept)
				s.bodiesAre(got.deliveries, "a")
				s.is("delete", s.remove(q, got.deliveries[0].Receipt), nil)
				if s.Advance == nil {
					return // real queues cost real time
				}
			}
		},
	},
}

// settleTimers gives a poll in real goroutines the moment that it needs to set its timer again.
func (s *suite) settleTimers() {
	if s.Advance != nil {
		time.Sleep(20 * time.Millisecond)
	}
}
