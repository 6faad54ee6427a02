package embedded_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

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
			if time.Now().After(end) {
				t.Fatalf("%s: not after %s of the clock: %v", what, clock.Now().Sub(from),
					s.Health(t.Context()).Counts)
			}
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
	if text := health.Checks["agent shop first"]; !strings.HasPrefix(text,
		"unauthorized since 2026-11-21T10:00:") || !health.Ready {
		t.Errorf("health says %q, ready %v", text, health.Ready)
	}
	w.shop.expired.Store(false)
	renewed := clock.Now()
	until("all end",
		func() bool { return s.Health(t.Context()).Counts["ended-"+string(core.Processed)] == int64(n) })
	if took := clock.Now().Sub(renewed); took > 20*time.Minute {
		t.Errorf("they ended %s after the credentials were renewed", took)
	}
	for i := range n {
		task := wait(t, s, fmt.Sprintf("o-%d", i))
		for _, step := range task.Steps {
			if step.Failures.Do != 0 || task.Hops > 2 {
				t.Fatalf("%s, step %s: %d failures, %d hops of the task", task.OrderID, step.Name,
					step.Failures.Do, task.Hops)
			}
		}
	}
	if w.shop.undone.Load() != 0 || w.shop.standing() != 2*n {
		t.Errorf("%d requests to undo, %d effects stand; want none, and %d", w.shop.undone.Load(),
			w.shop.standing(), 2*n)
	}
	if reported := strings.Count(log.String(), "ALERT"); reported != 1 ||
		!strings.Contains(log.String(), "operation=first code=unauthorized") {
		t.Errorf("the operator was notified %d times: %.500s", reported, log)
	}
	if text, waits := s.Health(t.Context()).Checks["agent shop first"]; waits {
		t.Errorf("health still says %q", text)
	}
}
