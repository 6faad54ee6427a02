package embedded_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

const trial = `workflow: %s
%s
steps:
  trial: {wait: %s}
  first: {agent: shop, operation: first, after: [trial], timeout: 5m, onFailure: stop, undo: none, grade: fenced}
`

// Orders that wait take no place of --max-open, however many they are. Where work fills all places, the
// refusal and the health name the limit, the log says it once, and orders of schedules start all the same.
func TestOrdersThatWaitTakeNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "5m")
		clock := memory.NewClock(time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC))
		w.options.Clock = clock
		log := w.logs()
		w.options.MaxOpen = 3
		w.shop.hang.Store(true)
		w.writeAs("trial.yaml", fmt.Sprintf(trial, "trial", "", "14d"))
		w.writeAs("hourly.yaml", fmt.Sprintf(trial, "hourly", `schedule: {cron: "@hourly", input: {}}`, "1h"))
		s := w.open()
		eventually(t, "the schedule is found", func() bool {
			all, err := s.Schedules(t.Context())
			return err == nil && len(all) == 1 && all[0].Next != 0
		})
		for i := range 20 {
			o := order(t, fmt.Sprintf("waits-%d", i), "")
			o.Workflow = "trial"
			require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err, "%+v", i)
		}
		healthy := func() string {
			h := s.Health(t.Context())
			require.True(t, h.Ready, "it is not ready, so that agents outside could not reach their queues")
			return h.Checks["intake"]
		}
		require.Equal(t, "ok", healthy(), "with orders that wait")
		for i := range 5 {
			err := s.Submit(t.Context(), []message.SubmitOrder{order(t, fmt.Sprintf("o-%d", i), "")})[0].Err
			var busy *api.BusyError
			if i < 3 {
				require.NoError(t, err, i)
				continue
			}
			require.ErrorAs(t, err, &busy, i)
			require.ErrorContains(t, err, "3 orders are active and the limit is 3 (--max-open)", i)
			require.Positive(t, busy.RetryAfter)
		}
		require.EqualValues(t, 2, s.Health(t.Context()).Counts["busy: intake"])
		require.True(t, s.Submit(t.Context(), []message.SubmitOrder{order(t, "o-0", "")})[0].Known)
		require.Contains(t, healthy(), "3 orders are active and the limit is 3 (--max-open)", "with all places taken")
		clock.Advance(time.Minute)
		eventually(t, "the schedule's order starts", func() bool {
			_, _, err := s.Task(t.Context(), "hourly-20260329T010000Z")
			return err == nil
		})
		closeRuntime(t, s)
		again := w.open() // the orders that were active before the restart are counted
		require.EqualValues(t, 3, again.Health(t.Context()).Counts["running"])
		w.shop.hang.Store(false)
		closeRuntime(t, again)
		warnings := log.count("new orders are refused, and")
		errorLines := log.count("level=ERROR")
		alerts := log.count("ALERT: new orders are refused")
		if warnings != 1 || errorLines != alerts || alerts > 1 { // it may be stopped before the alert
			t.Errorf(
				"the log has %d warnings, %d alerts of refused orders and %d errors; want 1, at most 1, and "+
					"as many errors as alerts:\n%s",
				warnings, alerts, errorLines, log.String())
		}
	})
}

// --longest-wait shortens the waits of orders.
func TestWaitsAreShortened(t *testing.T) {
	w := newFixture(t, "5m")
	clock := memory.NewClock(time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC))
	w.options.Clock = clock
	w.options.LongestWait = 10 * time.Second
	w.writeAs("trial.yaml", fmt.Sprintf(trial, "trial", "", "14d"))
	s := w.open()
	defer closeRuntime(t, s)
	o := order(t, "o-1", "")
	o.Workflow = "trial"
	require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
	task, _, err := s.Task(t.Context(), "o-1")
	require.NoError(t, err)
	require.Equal(t, core.TimeOf(clock.Now().Add(10*time.Second)), task.Step("trial").Wait.At)
}
