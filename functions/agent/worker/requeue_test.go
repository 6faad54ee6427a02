package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A call that has begun something returns its request to the queue, and is not tried again before. A request
// that has returned too often, or has no time left, is answered as after any other failure. No such call
// opens the breaker. Broken by: it is answered at once.
func TestARequestReturnsToItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := newBench(
			t,
			port.ClockFunc(time.Now),
			worker.Config{
				Breaker: worker.Breaker{Failures: 1, Window: 2},
				Operations: charge(func(context.Context, worker.Call) (any, error) {
					calls++
					return nil, &worker.Failure{
						Requeue: true, RetryAfter: time.Second, Code: "started",
						Err: errors.New("it has started"),
					}
				}),
			},
		)
		d := delivery(request(time.Now()))
		for d.Received = 1; d.Received <= 3; d.Received++ {
			v := b.worker.Handle(t.Context(), d)
			require.False(t, v.Delete, "receive %d: %+v", d.Received, v)
			require.Equal(t, time.Second, v.After)
		}
		require.Empty(t, b.replies())
		require.True(t, b.worker.Handle(t.Context(), d).Delete)
		require.Equal(t, 4, calls)
		r := b.reply()
		require.NotNil(t, r, "receive 4: %+v", r)
		require.Equal(t, core.OutcomeRetryLater, r.Outcome)
		require.Equal(t, "started", r.Error.Code)
		late := request(time.Now())
		late.StopBy = late.ClaimedAt + 1000
		require.True(t, b.worker.Handle(t.Context(), delivery(late)).Delete)
	})
}
