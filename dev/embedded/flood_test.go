package embedded_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// onItsOwnClock makes the world's time stand still, but for what the test moves, so that no pause of
// the machine counts as time. Steps have an hour.
func onItsOwnClock(t *testing.T, allowance string) (*fixture, *memory.Clock) {
	t.Helper()
	w := newFixture(t, "1h")
	w.write(strings.Replace(fmt.Sprintf(pair, "1h"), "queueAllowance: 1h", "queueAllowance: "+allowance, 1))
	clock := memory.NewClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	w.options.Clock = clock
	w.options.SweepEvery = quick
	return w, clock
}

func busy(t *testing.T, s *embedded.Runtime) bool {
	t.Helper()
	replies := depth(t, s, port.Replies)
	control := depth(t, s, port.Control)
	return replies.Visible+replies.InFlight+control.Visible+control.InFlight > 0
}

func depth(t *testing.T, s *embedded.Runtime, name string) port.Depth {
	t.Helper()
	q := queueOf(t, s, name)
	d, err := q.Depth(t.Context())
	require.NoError(t, err)
	return d
}

// handedBack submits orders, lets hold take requests, and checks that all of them are handed back two hours later,
// as failures or not.
func handedBack(t *testing.T, w *fixture, clock *memory.Clock, orders, failures int, hold func(q port.Queue)) {
	s := w.open()
	defer closeRuntime(t, s)
	if w.shop.stuck != nil {
		defer close(w.shop.stuck)
	}
	for i := range orders {
		submit(t, s, fmt.Sprintf("o-%d", i), "")
	}
	hold(queueOf(t, s, port.Requests("shop")))
	clock.Advance(2 * time.Hour) // the requests in hand are visible again too
	for i := range orders {
		task, err := s.Wait(t.Context(), fmt.Sprintf("o-%d", i),
			func(task *protocol.Task) bool { return task.Version > 1 })
		require.NoError(t, err)
		require.Equal(t, failures, task.Steps[0].Failures.Do)
		require.Equal(t, core.Pending, task.Steps[0].State)
	}
}

// P32: requests that lie in a queue since they were sent are no failures, whether more or fewer wait than the
// agent takes at a time, concurrency times batch.
func TestRequestsThatLieInAQueueAreNoFailures(t *testing.T) {
	for _, c := range []struct{ concurrency, orders int }{
		{3, 15}, {3, 16}, {1, 5}, {1, 6}, {0, 50}, {0, 51}, // 0: 10, unless asked otherwise
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			w, clock := onItsOwnClock(t, "7m30s")
			w.shop.stuck = make(chan struct{}) // an agent that is free again drops what came too late
			w.options.Inside.Concurrency = c.concurrency
			handedBack(t, w, clock, c.orders, 0, func(q port.Queue) {
				eventually(t, "calls are made", func() bool {
					d, err := q.Depth(t.Context())
					return err == nil && d.InFlight >= max(c.concurrency, 1)
				})
			})
		})
	}
}

// P32: an agent outside has received all its requests and is gone. They are failures when they are overdue,
// unless they are more than it takes at a time: 50, which is the concurrency times the batch of an agent
// without settings.
func TestRequestsThatAnAgentOutsideHolds(t *testing.T) {
	for orders, failures := range map[int]int{50: 1, 51: 0} {
		t.Run(strconv.Itoa(orders), func(t *testing.T) {
			w, clock := onItsOwnClock(t, "7m30s")
			w.outside()
			handedBack(t, w, clock, orders, failures, func(q port.Queue) {
				for held := 0; held < orders; {
					got, err := q.Receive(t.Context(), port.MaxBatch, patience, 6*time.Hour)
					require.NoError(t, err)
					require.NotEmpty(t, got, "%+v", held)
					held += len(got)
				}
			})
		})
	}
}
