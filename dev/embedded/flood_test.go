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

// P32: an agent outside has received all its requests and is gone. They are failures when they are overdue,
// unless they are more than it takes at a time: 50, which is the concurrency times the batch of an agent
// without settings.
func TestRequestsThatAnAgentOutsideHolds(t *testing.T) {
	for orders, failures := range map[int]int{50: 1, 51: 0} {
		t.Run(strconv.Itoa(orders), func(t *testing.T) {
			w, clock := onItsOwnClock(t, "7m30s")
			w.outside()
			s := w.open()
			defer closeRuntime(t, s)
			for i := range orders {
				submit(t, s, fmt.Sprintf("o-%d", i), "")
			}
			q := queueOf(t, s, port.Requests("shop"))
			for held := 0; held < orders; {
				got, err := q.Receive(t.Context(), port.MaxBatch, patience, 6*time.Hour)
				require.NoError(t, err)
				require.NotEmpty(t, got, "%+v", held)
				held += len(got)
			}
			clock.Advance(68 * time.Minute) // a sweep that is later than a minute would take it for a sleep
			for i := range orders {
				task, err := s.Wait(t.Context(), fmt.Sprintf("o-%d", i),
					func(task *protocol.Task) bool { return task.Version > 1 })
				require.NoError(t, err)
				require.Equal(t, failures, task.Steps[0].Failures.Do)
				require.Equal(t, core.Pending, task.Steps[0].State)
			}
		})
	}
}
