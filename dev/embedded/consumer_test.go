package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

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
	if err != nil {
		t.Fatal(err)
	}
	queue, err := queues.Queue("replies")
	if err != nil {
		t.Fatal(err)
	}
	if errs := queue.Send(ctx, []port.Message{{Body: []byte("a")}}); errs[0] != nil {
		t.Fatal(errs[0])
	}
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
	if !slices.Equal(received, []int{1, 2}) {
		t.Errorf(
			"the message was received as %v, expected a redelivery after the handling that took too long",
			received)
	}
	if depth, err := queue.Depth(t.Context()); err != nil || depth.Visible+depth.InFlight != 0 {
		t.Errorf("after a handling in time the queue holds %+v, %v", depth, err)
	}
	if strings.Contains(log.String(), "not deleted") {
		t.Errorf("the deletion is logged as a failure: %s", log.String())
	}
}
