package scheduler_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P32, P44: one instance handles messages concurrently. The handlings share the queue waits and the queue
// lengths; `make race` fails if one of them reads or writes these without the lock.
func TestConcurrentHandlingsShareWaitsAndLengths(t *testing.T) {
	const orders = 16
	w := twoAgents(t)
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "s")
	config.Capacity = func(string) int { return 2 }
	config.Waits = &scheduler.Waits{}
	config.Count = nil // the world's count is not safe for concurrent use
	s := scheduler.New(config)
	concurrently := func(n int, handle func(i int)) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { handle(i) })
		}
		all.Wait()
	}
	concurrently(orders, func(i int) {
		if failed := s.Handle(ctx, port.Intake,
			deliver(actorstest.Order(fmt.Sprintf("o-%d", i)))); len(failed) > 0 {
			t.Errorf("returned: %v", failed)
		}
	})
	var replies []*message.Reply
	for _, r := range requests(t, w) {
		reply := actorstest.Done(r)
		reply.Waited = 3 * core.Second
		replies = append(replies, reply)
	}
	require.GreaterOrEqual(t, len(replies), orders)
	var left atomic.Int64
	left.Store(int64(len(replies)))
	concurrently(len(replies)+1, func(i int) {
		for i == len(replies) && left.Load() > 0 { // one goroutine only reads, as the metrics do
			config.Waits.All()
			config.Waits.At(0)
		}
		for n := 0; i < len(replies) && n < 4; n++ {
			w.Clock.Advance(10 * time.Second) // so that this handling reads the queue lengths again
			s.Handle(ctx, port.Replies, deliver(replies[i]))
		}
		left.Add(-1)
	})
	for agent, wait := range config.Waits.All() {
		require.Equal(t, 3*core.Second, wait.Least, "%v", agent)
	}
	require.NotEmpty(t, config.Waits.All(), "no wait is recorded")
}

// P32: what counts is the shortest wait of a second of replies. A clock that was ahead does not hold the next.
func TestWaitsOfSeconds(t *testing.T) {
	const long = 100 * core.Second
	begun := scheduler.QueueTime{Least: core.Second, Began: 10 * core.Time(core.Minute), Before: core.Second}
	for name, c := range map[string]struct {
		after core.Duration // of the begin of the second
		want  scheduler.QueueTime
	}{
		"at its begin":      {0, begun},
		"within the second": {core.Second - 1, begun},
		"in the next": {
			core.Second,
			scheduler.QueueTime{Least: long, Began: begun.Began.Add(core.Second), Before: core.Second},
		},
		"after a leap back": {
			-core.Minute,
			scheduler.QueueTime{Least: long, Began: begun.Began.Add(-core.Minute), Before: core.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, begun.Then(long, begun.Began.Add(c.after)))
		})
	}
}

// P32: a wait that was unknown counts as a second. From one second of replies to the next, what counts doubles,
// so that a leap of the clock, which a few requests report as their wait, delays no undo for long.
func TestWaitThatCountsDoublesAtMost(t *testing.T) {
	wait := scheduler.QueueTime{}
	now := core.Time(core.Day)
	for _, want := range []core.Duration{core.Second, 2 * core.Second, 4 * core.Second, 8 * core.Second} {
		now = now.Add(core.Second)
		wait = wait.Then(core.Day, now)
		require.Equal(t, want, wait.At(now))
	}
	wait = wait.Then(5*core.Second, now.Add(core.Second))
	require.Equal(t, 5*core.Second, wait.At(wait.Began), "a shorter wait counts at once")
}
