package embedded_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
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

// P32: a flood of many times what the agents can do in the time that a step has ends late: nothing is
// counted as a failure, nothing is undone, and what is too much for the memory is refused with a time
// to come again. Without the rule every request would time out in its queue.
func TestAFloodEndsLateWithNothingFailed(t *testing.T) {
	const calls = 2 // at a time, 90 s each: 90 of them in the time that a step has
	w, clock := onItsOwnClock(t, "7m30s")
	w.shop.gate = make(chan struct{})
	w.options.Inside.Concurrency = calls
	w.options.MaxOpen = 200
	s := w.open()
	defer closeRuntime(t, s)
	n := flood(t, s, w.options.MaxOpen)
	workOff(t, w, s, clock, calls, n)
	uncounted := 0
	for i := range n {
		task := wait(t, s, fmt.Sprintf("o-%d", i))
		require.Equal(t, core.Processed, task.ProcessState)
		for _, step := range task.Steps {
			require.Zero(t, step.Failures.Do, step.Name)
			uncounted += step.Attempt - 1 - step.Failures.Do
		}
	}
	require.NotZero(t, uncounted, "no request ever waited too long")
	require.Zero(t, w.shop.undone.Load())
	require.Equal(t, 2*n, w.shop.standing())
	submit(t, s, fmt.Sprintf("o-%d", n), "") // the refused one, now that there is room
	workOff(t, w, s, clock, calls, n+1)
	t.Logf("%d orders, %d copies handed back uncounted", n, uncounted)
}

// workOff lets the agents make call after call, each as long as 90 s of the clock, until n orders have
// ended. The clock is moved while all calls have begun and all replies are handled.
func workOff(t *testing.T, w *fixture, s *embedded.Runtime, clock *memory.Clock, calls, n int) {
	t.Helper()
	for end := time.Now().Add(2 * patience); ; {
		switch counts := s.Health(t.Context()).Counts; {
		case counts["ended-"+string(core.Processed)] == int64(n):
			return
		case time.Now().After(end):
			t.Fatalf("%d orders have not ended: %v", n, counts)
		}
		at := int(w.shop.at.Load())
		if at < calls && depth(t, s, port.Requests("shop")).Visible > 0 || busy(t, s) {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		clock.Advance(90 * time.Second)
		time.Sleep(w.options.SweepEvery) // let the Supervisor look; how often it does changes nothing
		for range at {
			select {
			case w.shop.gate <- struct{}{}:
			case <-time.After(time.Second): // its context ended meanwhile: the request comes again
			}
		}
	}
}

func busy(t *testing.T, s *embedded.Runtime) bool {
	t.Helper()
	replies := depth(t, s, port.Replies)
	control := depth(t, s, port.Control)
	return replies.Visible+replies.InFlight+control.Visible+control.InFlight > 0
}

func depth(t *testing.T, s *embedded.Runtime, name string) port.Depth {
	t.Helper()
	q, err := s.Queue(name)
	require.NoError(t, err)
	d, err := q.Depth(t.Context())
	require.NoError(t, err)
	return d
}

// flood submits orders until intake says that it is busy, and answers how many it took: at least as
// many as may be open.
func flood(t *testing.T, s *embedded.Runtime, room int) (taken int) {
	t.Helper()
	for ; taken < 10*room; taken++ {
		err := s.Submit(t.Context(), []message.SubmitOrder{order(t, fmt.Sprintf("o-%d", taken), "")})[0].Err
		if err == nil {
			continue
		}
		var busy *api.BusyError // 429 with Retry-After at the edge
		require.ErrorAs(t, err, &busy, room)
		require.True(t, busy.RetryAfter > 0, room)
		require.GreaterOrEqual(t, taken, room, room)
		return taken
	}
	t.Fatalf("%d orders were taken, with room for %d", taken, room)
	return taken
}

// P32: requests that lie in a queue since they were sent are no failures, whether more or fewer wait than the
// agent takes at a time, concurrency times batch.
func TestRequestsThatLieInAQueueAreNoFailures(t *testing.T) {
	for _, c := range []struct{ concurrency, orders, failures int }{
		{3, 15, 0}, {3, 16, 0}, {1, 5, 0}, {1, 6, 0}, {0, 50, 0}, {0, 51, 0}, // 0: 10, unless asked otherwise
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			w, clock := onItsOwnClock(t, "7m30s")
			w.shop.stuck = make(chan struct{}) // an agent that is free again drops what came too late
			w.options.Inside.Concurrency = c.concurrency
			s := w.open()
			defer closeRuntime(t, s)
			defer close(w.shop.stuck)
			for i := range c.orders {
				submit(t, s, fmt.Sprintf("o-%d", i), "")
			}
			eventually(t, "calls are made",
				func() bool { return depth(t, s, port.Requests("shop")).InFlight >= max(c.concurrency, 1) })
			clock.Advance(2 * time.Hour) // the requests in hand are visible again too
			for i := range c.orders {
				task, err := s.Wait(t.Context(), fmt.Sprintf("o-%d", i),
					func(task *protocol.Task) bool { return task.Version > 1 })
				require.NoError(t, err)
				step := task.Steps[0]
				require.Equal(t, c.failures, step.Failures.Do, c.failures)
				require.Equal(t, core.Pending, step.State, c.failures)
			}
		})
	}
}

// P32: an agent outside has received all its requests and is gone. They are failures when they are overdue,
// unless they are more than it takes at a time: 50, which is the concurrency times the batch of an agent
// without settings.
func TestRequestsThatAnAgentOutsideHolds(t *testing.T) {
	for _, c := range []struct{ orders, failures int }{{50, 1}, {51, 0}} {
		t.Run(strconv.Itoa(c.orders), func(t *testing.T) {
			w, clock := onItsOwnClock(t, "7m30s")
			w.outside()
			s := w.open()
			defer closeRuntime(t, s)
			for i := range c.orders {
				submit(t, s, fmt.Sprintf("o-%d", i), "")
			}
			q, err := s.Queue(port.Requests("shop"))
			require.NoError(t, err)
			for held := 0; held < c.orders; {
				got, err := q.Receive(t.Context(), port.MaxBatch, patience, 6*time.Hour)
				require.NoError(t, err, held)
				require.NotEmpty(t, got, held)
				held += len(got)
			}
			clock.Advance(2 * time.Hour)
			for i := range c.orders {
				task, err := s.Wait(t.Context(), fmt.Sprintf("o-%d", i),
					func(task *protocol.Task) bool { return task.Version > 1 })
				require.NoError(t, err)
				step := task.Steps[0]
				require.Equal(t, c.failures, step.Failures.Do, c.failures)
				require.Equal(t, core.Pending, step.State, c.failures)
			}
		})
	}
}

// P32: a request that its agent has not received is no failed attempt. An agent outside is away for hours
// while a single order waits for it; nothing is counted, and the order is done once the agent is back.
func TestAnAgentThatIsAwayForHoursUndoesNothing(t *testing.T) {
	w, clock := onItsOwnClock(t, "15s")
	w.write(strings.ReplaceAll(fmt.Sprintf(pair, "10s"), "queueAllowance: 10s", "queueAllowance: 15s"))
	w.outside()
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "o-1", "")
	current := func() *protocol.Task {
		t.Helper()
		task, err := s.Wait(t.Context(), "o-1", func(*protocol.Task) bool { return true })
		require.NoError(t, err)
		return task
	}
	askedAgain := func() (first protocol.Step) {
		t.Helper()
		eventually(t, "the agent is asked again", func() bool {
			clock.Advance(10 * time.Millisecond) // a Wake may have a delay
			task := current()
			first = task.Steps[0]
			require.LessOrEqual(t, first.Failures.Do, 0)
			require.Equal(t, core.Processing, task.ProcessState)
			return first.InFlight() && first.CompleteBy > core.TimeOf(clock.Now())
		})
		return first
	}
	for begin := clock.Now(); clock.Now().Sub(begin) < 5*time.Hour; {
		clock.Advance(askedAgain().CompleteBy.Std().Sub(clock.Now()) + time.Second)
	}
	require.GreaterOrEqual(t, askedAgain().Attempt, 5)
	q, err := s.Queue(port.Requests("shop"))
	require.NoError(t, err)
	replies, err := s.Queue(port.Replies)
	require.NoError(t, err)
	eventually(t, "it is done", func() bool {
		ds, err := q.Receive(t.Context(), 10, 0, time.Minute)
		for _, d := range ds {
			r, err := message.Of[message.Request](d)
			require.NoError(t, err)
			reply := &message.Reply{
				Schema: message.Schema, OrderID: r.OrderID, Run: r.Run, Step: r.Step,
				Agent:   r.Agent,
				Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeDone,
			}
			require.NoError(t, replies.Send(t.Context(), []port.Message{{Value: reply}})[0])
		}
		clock.Advance(10 * time.Millisecond)
		return err == nil && current().ProcessState == core.Processed
	})
}
