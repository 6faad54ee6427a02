package embedded_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

const hourly = `workflow: pair
schedule: {cron: "@hourly", overlap: allow, input: {tenant: a}}
steps:
  first: {agent: shop, operation: first, timeout: 5s, onFailure: undo, undo: none, grade: idempotent}
`

// allFail checks that a closed runtime refuses each call about an order, and never says that the order does
// not exist.
func allFail(t *testing.T, s *embedded.Runtime, id string) {
	t.Helper()
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"reject": func() error { return s.Reject(ctx, api.Rejected{Queue: port.Intake}) },
		"command": func() error {
			return second(s.Command(ctx, message.Control{OrderID: id, Event: core.Command{Name: core.Cancel, ID: "late"}}))
		},
		"order": func() error { return second(s.Order(ctx, &protocol.Task{OrderID: id, ContentHash: "h"})) },
		"task":  func() error { _, _, err := s.Task(ctx, id); return err },
		"wait":  func() error { return second(s.Wait(ctx, id, func(*protocol.Task) bool { return true })) },
		"list":  func() error { _, _, err := s.List(ctx, port.Query{Limit: 10}); return err },
		"target": func() error {
			return second(s.Target(ctx, "pair", "0123456789abcdef0123456789abcdef"))
		},
		"schedules": func() error { return second(s.Schedules(ctx)) },
	} {
		err := call()
		require.Error(t, err, name)
		require.NotErrorIs(t, err, port.ErrNotFound, name)
	}
}

func second[T any](_ T, err error) error { return err }

// A closed runtime refuses to show an order that was still open, although the task is in its cache.
func TestAClosedRuntimeShowsNoOpenOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "5s")
		w.shop.gate = make(chan struct{})
		s := w.open()
		submit(t, s, "one", "")
		eventually(t, "the call is made", func() bool { return w.shop.at.Load() == 1 })
		closeRuntime(t, s)
		allFail(t, s, "one")
	})
}

// Orders start by the clock, each once, also where the process was away in the meantime; the list says what
// was skipped.
func TestOrdersStartByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "5s")
		w.write(hourly)
		clock := memory.NewClock(time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC))
		w.options.Clock = clock
		s := w.open()
		known := func() schedule.Record {
			all, err := s.Schedules(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.Equal(t, "pair", all[0].Workflow)
			require.Equal(t, "@hourly", all[0].Cron)
			return all[0]
		}
		eventually(t, "the schedule is found", func() bool { return known().Next != 0 })
		clock.Advance(time.Minute)
		eventually(t, "it starts", func() bool { return known().Started == 1 && known().Starts[0].Sent })
		require.Equal(t, `{"scheduledTime":"2026-03-29T01:00:00Z","tenant":"a"}`,
			string(wait(t, s, "pair-20260329T010000Z").Order))
		closeRuntime(t, s)
		allFail(t, s, "pair-20260329T010000Z")
		// 11:01: ten times have passed, one of them within the hour of catchUp
		clock.Advance(10*time.Hour + time.Minute)
		s = w.open()
		defer closeRuntime(t, s)
		eventually(t, "it catches up", func() bool {
			return known().Started+known().Missed == 11 &&
				known().Starts[known().Started-1].Sent
		})
		r := known()
		require.Equal(t, 2, r.Started)
		require.Contains(t, r.Skipped[0].Why, "late, longer than catchUp")
		require.Equal(t, core.TimeOf(clock.Now().Truncate(time.Hour).Add(time.Hour)), r.Next)
		page, _, err := s.List(t.Context(), port.Query{Limit: 10})
		require.NoError(t, err)
		require.Len(t, page, 2)
	})
}

// An order of a schedule that is refused for good is as good as started: it is logged, and the times after it
// are started.
func TestARefusedOrderOfAScheduleHoldsUpNoOther(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(hourly)
	clock := memory.NewClock(time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC))
	w.options.Clock = clock
	log := w.logs()
	s := w.open()
	submit(t, s, "pair-20260329T010000Z", "") // another order with the ID of the one at 01:00
	schedules := func() schedule.Record {
		all, err := s.Schedules(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0]
	}
	eventually(t, "the schedule is found", func() bool { return schedules().Next != 0 })
	clock.Advance(time.Minute)
	eventually(t, "it starts", func() bool { r := schedules(); return r.Started == 1 && r.Starts[0].Sent })
	clock.Advance(time.Hour)
	eventually(t, "the next one starts",
		func() bool { r := schedules(); return r.Started == 2 && r.Starts[1].Sent })
	next, _, err := s.Task(t.Context(), "pair-20260329T020000Z")
	require.NoError(t, err)
	require.Contains(t, string(next.Order), "2026-03-29T02:00:00Z")
	closeRuntime(t, s)
	const refused = `msg="an order of a schedule is refused" order=pair-20260329T010000Z error=`
	require.Contains(t, log.String(), refused)
}
