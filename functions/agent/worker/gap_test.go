package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P25: an environment that was frozen in the wait before an own retry wakes up too late for it.
func TestFrozenBetweenTwoTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asleep atomic.Int64
		clock := port.ClockFunc(func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) })
		calls := 0
		b := newBench(t, clock, worker.Config{
			Retry: worker.Retry{
				Tries: 3, Initial: time.Second,
				Max: time.Second, Jitter: new(0.0),
			},
			Operations: charge(func(context.Context, worker.Call) (any, error) {
				calls++
				time.AfterFunc(500*time.Millisecond, func() { asleep.Store(int64(time.Hour)) })
				return nil, errors.New("reset")
			}),
		})
		v := b.worker.Handle(context.Background(), delivery(request(time.Now())))
		n := len(b.replies())
		require.True(t, v.Delete, "verdict %+v, %d calls, %d replies", v, calls, n)
		require.Equal(t, 1, calls)
		require.LessOrEqual(t, n, 0)
	})
}

// A process on Lambda is frozen between two batches, and its monotonic clock stands still then. An open breaker permits
// a probe all the same when its delay has passed.
func TestFrozenWithAnOpenBreaker(t *testing.T) {
	clock := memory.NewClock(noon)
	calls := 0
	b := newBench(t, clock, worker.Config{
		Retry:      worker.Retry{Tries: 1},
		Breaker:    worker.Breaker{Failures: 1, Window: 1, Delay: time.Minute},
		Operations: charge(counting(&calls, nil, errors.New("down"))),
	})
	handle := func() { b.worker.Handle(context.Background(), delivery(request(clock.Now()))) }
	handle()
	clock.Advance(time.Minute - time.Millisecond)
	handle()
	require.Equal(t, 1, calls)
	clock.Advance(time.Millisecond)
	handle()
	require.Equal(t, 2, calls)
	handle()
	require.Equal(t, 2, calls, "the failed probe opens the breaker again")
	clock.Set(clock.Now().Add(-time.Hour))
	handle()
	require.Equal(t, 3, calls, "a clock that was ahead does not keep the breaker open")
}

// slowLedger takes its time over a write.
type slowLedger struct {
	port.Ledger
	clock *memory.Clock
	takes time.Duration
}

func (l *slowLedger) Move(ctx context.Context, e port.LedgerEntry) error {
	err := l.Ledger.Move(ctx, e)
	l.clock.Advance(l.takes)
	l.takes = 0
	return err
}

// P25, P31: time may have run out while the ledger was written; then nothing is called, and the
// ledger does not say that it was.
func TestLateAfterTheLedger(t *testing.T) {
	clock := memory.NewClock(noon)
	ledger := memory.NewLedger()
	calls := 0
	b := newBench(t, clock, worker.Config{
		Ledger:     &slowLedger{ledger, clock, 2 * time.Minute},
		Operations: charge(counting(&calls, nil, nil)),
	})
	req := request(noon)
	req.Grade = core.Plain
	b.worker.Handle(context.Background(), delivery(req))
	e, err := ledger.Entry(context.Background(), req.Key)
	if n := len(b.replies()); err != nil || calls > 0 || n > 0 || e.State != worker.StateNone {
		t.Errorf("%d calls, %d replies, the ledger says %q (%v)", calls, n, e.State, err)
	}
}

// lastMoment is a context whose deadline is now, and which has not ended yet.
type lastMoment struct{ context.Context }

func (lastMoment) Deadline() (time.Time, bool) { return time.Now(), true }

// A request whose turn comes in the last moment of its function returns to the queue: it is neither called nor deleted.
func TestTheLastMomentOfAFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Operations: charge(counting(&calls, nil, nil)),
		})
		v := b.worker.Handle(lastMoment{t.Context()}, delivery(request(time.Now())))
		require.False(t, v.Delete, "verdict %+v, %d calls", v, calls)
		require.LessOrEqual(t, calls, 0)
		require.Empty(t, b.replies())
	})
}
