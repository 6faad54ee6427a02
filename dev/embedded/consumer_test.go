package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A handling that outlasts its visibility deletes nothing: the message comes again, as a redelivery, which
// emits again what the first handling may not have sent (P12a).
func TestPastItsVisibilityNothingIsDeleted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	clock := memory.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: "replies"}})
	require.NoError(t, err)
	queue, err := queues.Queue("replies")
	require.NoError(t, err)
	require.NoError(t, queue.Send(ctx, []port.Message{{Body: []byte("a")}})[0])
	var received []int
	took := visibility // of the handling; the next one takes no time
	var log bytes.Buffer
	p := &consumer{
		queue: queue, clock: clock,
		log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		handle: func(_ context.Context, _ string, d []port.Delivery) []string {
			received = append(received, d[0].Received)
			clock.Advance(took)
			took = 0
			if len(received) == 2 {
				cancel()
			}
			return nil
		},
	}
	p.run(ctx, t.Context())
	require.Equal(t, []int{1, 2}, received)
	depth, err := queue.Depth(t.Context())
	require.NoError(t, err)
	require.Zero(t, depth.Visible+depth.InFlight)
	require.NotContains(t, log.String(), "not deleted", "the deletion is logged as a failure")
}

// The ends of many children come to the Scheduler together, because they change the same order.
func TestMessagesBetweenOrdersComeInLargeBatches(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	clock := memory.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: port.Tasks}})
	require.NoError(t, err)
	queue, err := queues.Queue(port.Tasks)
	require.NoError(t, err)
	for range 60 {
		require.NoError(t, queue.Send(ctx, []port.Message{{Body: []byte("end")}})[0])
	}
	together := 0
	p := &consumer{
		queue: queue, clock: clock, log: slog.New(slog.DiscardHandler),
		handle: func(_ context.Context, _ string, d []port.Delivery) []string {
			together = len(d)
			cancel()
			return nil
		},
	}
	p.run(ctx, t.Context())
	require.Equal(t, 60, together)
}
