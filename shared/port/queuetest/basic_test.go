package queuetest_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var nameCases = []testCase{
	{name: "a queue knows its name", run: func(s *suite, _ port.Queue) {
		for _, name := range []string{plain, other, dead, retry} {
			require.Equal(s, name, s.queue(name).Name())
		}
	}},
	{name: "an unknown queue is not found", run: func(s *suite, _ port.Queue) {
		for _, name := range []string{"unknown", "", "../plain", "PLAIN", "https://example.com/plain"} {
			_, err := s.Queues.Queue(name)
			s.is(name, err, port.ErrNotFound)
		}
	}},
	{name: "the same name is the same queue", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		s.bodiesAre(s.take(s.queue(plain), 1, long), "a")
	}},
	{name: "queues are apart", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		s.none(s.queue(other))
	}},
	{name: "a reply-to is one of the list", run: func(s *suite, _ port.Queue) {
		q, err := s.Queues.ReplyTo(other)
		require.NoError(s, err)
		s.send(q, "status")
		s.bodiesAre(s.take(s.queue(other), 1, long), "status")
	}},
	{name: "no other queue is a reply-to", run: func(s *suite, _ port.Queue) {
		for _, name := range []string{plain, dead, "unknown", "", "https://example.com/other"} {
			_, err := s.Queues.ReplyTo(name)
			s.is(name, err, port.ErrNotFound)
		}
	}},
}

var sendCases = []testCase{
	{name: "a batch of ten", run: func(s *suite, q port.Queue) {
		var messages []port.Message
		var want []string
		for i := range port.MaxBatch {
			want = append(want, fmt.Sprint("message ", i))
			messages = append(messages, text(want[i]))
		}
		s.sendMessage(q, messages...)
		s.bodiesAre(s.take(q, port.MaxBatch, long), want...)
		s.none(q)
	}},
	{name: "no messages", run: func(s *suite, q port.Queue) {
		require.Empty(s, q.Send(s.ctx, nil))
	}},
	{name: "the largest message", run: func(s *suite, q port.Queue) {
		s.sendMessage(q, large(port.MaxMessage))
		require.Len(s, s.one(q, long).Body, port.MaxMessage)
	}},
	{name: "a message over the limit affects no other", run: func(s *suite, q port.Queue) {
		errs := q.Send(s.ctx, []port.Message{text("a"), large(port.MaxBody + 1), text("b")})
		s.is("first", errs[0], nil)
		s.is("large", errs[1], port.ErrTooLarge)
		s.is("last", errs[2], nil)
		s.bodiesAre(s.take(q, 2, long), "a", "b")
		s.none(q)
	}},
	{name: "an empty message is refused", run: func(s *suite, q port.Queue) {
		errs := q.Send(s.ctx, []port.Message{{}, text("a")})
		require.Error(s, errs[0])
		require.NoError(s, errs[1])
		s.bodiesAre(s.take(q, 1, long), "a")
	}},
	{name: "a strange delay is refused", run: func(s *suite, q port.Queue) {
		for _, delay := range []time.Duration{-time.Second, port.MaxDelay + time.Second} {
			require.Error(s, q.Send(s.ctx, []port.Message{{Body: []byte("a"), Delay: delay}})[0], "%+v", delay)
		}
		s.none(q)
	}},
	{name: "text that is not plain", run: func(s *suite, q port.Queue) {
		const body = "{\"name\":\"\u00e4\u65e5\U0001F600\",\"quote\":\"' \\\" <&>\"}"
		s.send(q, body)
		s.bodiesAre(s.take(q, 1, long), body)
	}},
	{name: "a value's bytes arrive", run: func(s *suite, q port.Queue) {
		s.sendMessage(q, port.Message{Value: value{7}}, text("body"))
		s.bodiesAre(s.take(q, 2, long), `{"n":7}`, "body")
	}},
	{
		name: "a value arrives as it is", needs: func(o Options) bool { return o.KeepsValues },
		run: func(s *suite, q port.Queue) {
			s.sendMessage(q, port.Message{Value: value{7}})
			d := s.one(q, long)
			require.EqualValues(s, value{7}, d.Value)
			require.Nil(s, d.Body)
		},
	},
	{
		name:  "a value that cannot be encoded affects no other",
		needs: func(o Options) bool { return !o.KeepsValues }, run: func(s *suite, q port.Queue) {
			errs := q.Send(s.ctx, []port.Message{{Value: stubborn{}}, text("a")})
			s.is("stubborn", errs[0], errStubborn)
			s.is("other", errs[1], nil)
			s.bodiesAre(s.take(q, 1, long), "a")
		},
	},
}

var receiveCases = []testCase{
	{name: "at most as many as asked for", run: func(s *suite, q port.Queue) {
		s.send(q, "a", "b", "c", "d", "e")
		got, err := q.Receive(s.ctx, 2, s.patience(), long)
		require.NoError(s, err)
		require.LessOrEqual(s, len(got), 2)
		s.bodiesAre(append(got, s.take(q, 5-len(got), long)...), "a", "b", "c", "d", "e")
	}},
	{name: "ID, receipt and time", run: func(s *suite, q port.Queue) {
		s.send(q, "a", "b")
		got := s.take(q, 2, long)
		for _, d := range got {
			require.NotEmpty(s, d.ID, "%+v", d)
			require.NotEmpty(s, d.Receipt, "%+v", d)
			require.False(s, d.SentAt.IsZero(), "%+v", d)
			require.Zero(s, d.Delay, "%+v", d)
		}
		require.NotEqual(s, got[1].ID, got[0].ID)
		require.NotEqual(s, got[1].Receipt, got[0].Receipt)
	}},
	{name: "a repeated delivery is counted and keeps its ID", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		first := s.one(q, s.unit)
		for n := 2; n <= 5; n++ {
			s.pass(s.unit)
			d := s.one(q, s.unit)
			require.Equal(s, first.ID, d.ID, "%+v", n)
			require.Equal(s, n, d.Received)
			require.True(s, d.SentAt.Equal(first.SentAt), "%+v", n)
		}
		require.Equal(s, 1, first.Received)
	}},
	{name: "strange arguments are refused", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		for _, c := range []struct {
			max              int
			wait, visibility time.Duration
		}{
			{0, 0, long},
			{-1, 0, long},
			{1, -time.Second, long},
			{1, 0, -time.Second},
			{1, 0, port.MaxVisibility + time.Second},
		} {
			_, err := q.Receive(s.ctx, c.max, c.wait, c.visibility)
			require.Error(s, err, "%+v", c.max)
		}
		s.bodiesAre(s.take(q, 1, long), "a")
	}},
}

var deleteCases = []testCase{
	{name: "what is deleted does not come back", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		s.is("delete", s.remove(q, s.one(q, s.unit).Receipt), nil)
		s.pass(2 * s.unit)
		s.none(q)
	}},
	{name: "twice is harmless", run: func(s *suite, q port.Queue) {
		s.send(q, "a", "b")
		got := s.take(q, 2, long)
		for range 2 {
			s.is("delete", s.remove(q, got[0].Receipt), nil)
		}
		s.send(q, "c") // perhaps where "a" was
		s.is("a third time", s.remove(q, got[0].Receipt), nil)
		s.bodiesAre(s.take(q, 1, long), "c")
	}},
	{name: "an old receipt deletes nothing", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		old := s.one(q, s.unit)
		s.pass(s.unit)
		fresh := s.one(q, s.unit)
		s.is("old receipt", s.remove(q, old.Receipt), port.ErrReceipt)
		s.pass(s.unit)
		d := s.one(q, long)
		s.is("receipt before", s.remove(q, fresh.Receipt), port.ErrReceipt)
		s.is("newest receipt", s.remove(q, d.Receipt), nil)
		s.none(q)
	}},
	{name: "nonsense is no receipt", run: func(s *suite, q port.Queue) {
		s.send(q, "a")
		d := s.one(q, s.unit)
		for _, receipt := range []string{"", "nonsense", "\x00", "1.1.1.1", "-1.0.1"} {
			s.is(receipt, s.remove(q, receipt), port.ErrReceipt)
		}
		s.is("the real one", s.remove(q, d.Receipt), nil)
	}},
	{name: "a batch keeps its places", run: func(s *suite, q port.Queue) {
		s.send(q, "a", "b", "c")
		got := s.take(q, 3, s.unit)
		s.pass(s.unit)
		again := s.one(q, long)
		receipts := []string{got[0].Receipt, "nonsense", got[1].Receipt, got[2].Receipt}
		errs := q.Delete(s.ctx, receipts)
		for i, place := range []int{0, 2, 3} {
			want := error(nil)
			if got[i].ID == again.ID {
				want = port.ErrReceipt
			} else if !s.options.LateDelete {
				continue
			}
			s.is(fmt.Sprint("place ", place), errs[place], want)
		}
		s.is("place 1", errs[1], port.ErrReceipt)
	}},
	{name: "no receipts", run: func(s *suite, q port.Queue) {
		require.Empty(s, q.Delete(s.ctx, nil))
	}},
	{
		name: "after the timeout, while no other receiver has it", needs: lateDelete,
		run: func(s *suite, q port.Queue) {
			s.send(q, "a", "b")
			got := s.take(q, 2, s.unit)
			s.pass(2 * s.unit)
			s.is("delete", s.remove(q, got[0].Receipt), nil)
			s.bodiesAre(s.take(q, 1, long), string(got[1].Body))
			s.none(q)
		},
	},
}
