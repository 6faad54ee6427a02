package embedded_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P45: an agent's credentials have expired, and for an hour its service refuses every call: none of 1,000
// orders is undone or counts a failure, the operator is notified once, and health says what is waited for.
// Once the credentials are renewed all of them end Processed, minutes later.
func TestAnHourOfExpiredCredentialsUndoesNothing(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	w, clock := onItsOwnClock(t, "7m30s")
	w.shop.expired.Store(true)
	log := &logged{}
	w.options.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))
	w.options.MaxOpen = n
	w.options.Inside.Breaker = worker.Breaker{Delay: time.Millisecond} // by the machine's clock
	s := w.open()
	defer closeRuntime(t, s)
	for i := range n {
		submit(t, s, fmt.Sprintf("o-%d", i), "")
	}
	from := clock.Now()
	until := func(what string, done func() bool) {
		for end := time.Now().Add(4 * patience); !done(); {
			require.False(t, time.Now().After(end))
			if busy(t, s) || depth(t, s, port.Requests("shop")).Visible > 0 ||
				s.Health(t.Context()).Counts["agent-shop-in-flight"] > 0 {
				time.Sleep(100 * time.Microsecond)
				continue
			}
			clock.Advance(20 * time.Second)
		}
	}
	until("the hour", func() bool { return clock.Now().Sub(from) >= time.Hour })
	health := s.Health(t.Context())
	require.True(t, strings.HasPrefix(health.Checks["agent shop first"], "unauthorized since 2026-11-21T10:00:"))
	require.True(t, health.Ready)
	w.shop.expired.Store(false)
	renewed := clock.Now()
	until("all end",
		func() bool { return s.Health(t.Context()).Counts["ended-"+string(core.Processed)] == int64(n) })
	require.LessOrEqual(t, clock.Now().Sub(renewed), 20*time.Minute)
	for i := range n {
		task := wait(t, s, fmt.Sprintf("o-%d", i))
		for _, step := range task.Steps {
			require.Zero(t, step.Failures.Do, step.Name)
			require.LessOrEqual(t, task.Hops, 2, step.Name)
		}
	}
	require.Zero(t, w.shop.undone.Load())
	require.Equal(t, 2*n, w.shop.standing())
	require.Equal(t, 1, strings.Count(log.String(), "ALERT"))
	require.Contains(t, log.String(), "operation=first code=unauthorized")
	_, waits := s.Health(t.Context()).Checks["agent shop first"]
	require.False(t, waits, "health still says %q", text)
}
