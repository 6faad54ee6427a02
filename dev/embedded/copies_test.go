package embedded_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// held makes the agent's first calls wait until they are let go, and counts all of them.
func held(w *fixture, first int64) (calls *atomic.Int64, letGo func()) {
	calls = &atomic.Int64{}
	gate := make(chan struct{})
	w.options.Operations["shop"] = worker.Operations{
		worker.AnyOperation: {Run: func(ctx context.Context, _ worker.Call) (any, error) {
			if calls.Add(1) > first {
				return nil, nil
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-gate:
				return nil, nil
			}
		}},
	}
	return calls, func() { close(gate) }
}

// P12a: a flood of copies of a few orders is answered, and leaves nothing behind: no call, no request, no
// status, no memory.
func TestAFloodOfCopiesLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const orders = 5
		copies := 100_000
		if testing.Short() { // still more than the limit below has room for
			copies = 40_000
		}
		w := newFixture(t, "1h")
		w.options.Inside.Concurrency = 2 * orders
		calls, letGo := held(w, orders)
		s := w.open()
		defer closeRuntime(t, s)
		defer letGo()
		var all []message.SubmitOrder
		for i := range orders {
			all = append(all, order(t, fmt.Sprint("o-", i), `,"replyTo":"shop"`))
		}
		for _, r := range s.Submit(t.Context(), all) {
			require.NoError(t, r.Err, "%+v", r)
			require.False(t, r.Known, "%+v", r)
		}
		eventually(t, "a call for each order", func() bool { return calls.Load() == orders })
		eventually(t, "two statuses of each order, received and started",
			func() bool { return depth(t, s, embedded.Status("shop")).Visible == 2*orders })
		reported := depth(t, s, embedded.Status("shop"))
		before := heap()
		many := slices.Repeat(all, 20)
		for range copies / len(many) {
			for _, r := range s.Submit(t.Context(), many) {
				require.NoError(t, r.Err, "%+v", r)
				require.True(t, r.Known, "%+v", r)
				require.Equal(t, core.Processing, r.State, "%+v", r)
			}
		}
		d := depth(t, s, port.Requests("shop"))
		require.Zero(t, d.Visible+d.Delayed)
		require.EqualValues(t, orders, calls.Load())
		require.Equal(t, reported.Visible, depth(t, s, embedded.Status("shop")).Visible, "statuses")
		require.LessOrEqual(t, heap()-before, int64(4<<20))
	})
}

// heap is what is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
