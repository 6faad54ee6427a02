package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

// TestBefore: a sweep reads an earlier order only if its state decides whether the next order starts.
func TestBefore(t *testing.T) {
	now := core.TimeOf(at(t, "2026-11-21T14:00:00Z"))
	skip := &core.Schedule{Overlap: core.OverlapSkip}
	allow := &core.Schedule{Overlap: core.OverlapAllow}
	first := schedule.Start{OrderID: "first", Sent: true}
	sent := schedule.Start{OrderID: "last", Sent: true}
	unsent := schedule.Start{OrderID: "last"}
	for _, c := range []struct {
		name   string
		s      *core.Schedule
		next   core.Time
		starts []schedule.Start
		want   string
	}{
		{"the latest start", skip, now, []schedule.Start{first, sent}, "last"},
		{"orders may overlap", allow, now, []schedule.Start{first, sent}, ""},
		{"no scheduled time has come", skip, now + 1, []schedule.Start{first, sent}, ""},
		{"the order may not have been submitted", skip, now, []schedule.Start{first, unsent}, ""},
		{"nothing has started", skip, now, nil, ""},
	} {
		r := schedule.Record{Next: c.next, Starts: c.starts}
		got := ""
		if s := r.Before(c.s, now); s != nil {
			got = s.OrderID
		}
		require.Equal(t, c.want, got, c.name)
	}
}

// TestOneReasonSkipsEachTime: while the earlier order has not ended, each scheduled time is skipped with the
// same reason.
func TestOneReasonSkipsEachTime(t *testing.T) {
	s := &core.Schedule{Cron: "@hourly", Overlap: core.OverlapSkip, CatchUp: core.Day}
	r := schedule.Record{
		Cron: s.Cron, Next: core.TimeOf(at(t, "2026-11-21T12:00:00Z")),
		Starts: []schedule.Start{{OrderID: "before", Sent: true}},
	}
	_, err := r.Decide("w", s, core.TimeOf(at(t, "2026-11-21T14:05:00Z")), "not ended")
	require.NoError(t, err)
	require.Equal(t, 3, r.Missed)
	require.Len(t, r.Starts, 1)
	for _, skipped := range r.Skipped {
		require.Equal(t, "not ended", skipped.Why, "%+v", skipped)
	}
}

// TestNextIsNeverTooLate: the next start is at most the next time of the expression, apart from the difference
// that clocks may have. A time that has started does not start twice.
func TestNextIsNeverTooLate(t *testing.T) {
	s := &core.Schedule{Cron: "@hourly", Overlap: core.OverlapAllow, CatchUp: core.Day}
	now := core.TimeOf(at(t, "2026-11-21T14:05:00Z"))
	for _, c := range []struct {
		stored, want string
		started      int
	}{
		{"2026-11-21T15:00:00Z", "2026-11-21T15:00:00Z", 0},
		{"2026-11-21T14:00:00Z", "2026-11-21T15:00:00Z", 1},
		{"2026-11-21T16:00:00Z", "2026-11-21T15:00:00Z", 0},
		{"2027-11-21T16:00:00Z", "2026-11-21T15:00:00Z", 0},
		{"9999-01-01T00:00:00Z", "2026-11-21T15:00:00Z", 0},
	} {
		r := schedule.Record{Cron: s.Cron, Next: core.TimeOf(at(t, c.stored))}
		_, err := r.Decide("w", s, now, "")
		require.NoError(t, err)
		require.Equal(t, core.TimeOf(at(t, c.want)), r.Next, c.stored)
		require.Equal(t, c.started, r.Started, c.stored)
	}
	early := schedule.Record{Cron: s.Cron, Next: core.TimeOf(at(t, "2026-11-21T15:00:00Z"))}
	_, err := early.Decide("w", s, core.TimeOf(at(t, "2026-11-21T15:30:00Z")), "")
	require.NoError(t, err)
	_, err = early.Decide("w", s, now, "") // the clock went back
	require.NoError(t, err)
	_, err = early.Decide("w", s, core.TimeOf(at(t, "2026-11-21T16:00:00Z")), "")
	require.NoError(t, err)
	require.Equal(t, 2, early.Started, "15:00 and 16:00, each once")
	// A clock that is a little slow takes nothing back.
	slow := schedule.Record{Cron: s.Cron, Next: core.TimeOf(at(t, "2026-11-21T15:00:00Z"))}
	_, err = slow.Decide("w", s, core.TimeOf(at(t, "2026-11-21T13:59:00Z")), "")
	require.NoError(t, err)
	require.Empty(t, slow.Skipped)
}

// TestStartsThatCannotBeSubmittedAreFew: while no order can be submitted, the record does not grow without an end, and
// the times after it wait. Broken by: Decide limits the starts of each sweep alone.
func TestStartsThatCannotBeSubmittedAreFew(t *testing.T) {
	s := &core.Schedule{Cron: "* * * * *", Overlap: core.OverlapAllow, CatchUp: core.Day}
	now := core.TimeOf(at(t, "2026-11-21T12:00:30Z"))
	r := schedule.Record{Cron: s.Cron, Next: core.TimeOf(at(t, "2026-11-21T12:00:00Z"))}
	for range 300 {
		_, err := r.Decide("w", s, now, "")
		require.NoError(t, err)
		now = now.Add(core.Minute)
	}
	require.Len(t, r.Unsent(), 100)
	for _, start := range r.Unsent() {
		start.Sent = true
	}
	_, err := r.Decide("w", s, now, "")
	require.NoError(t, err)
	require.Equal(t, core.TimeOf(at(t, "2026-11-21T13:40:00Z")), r.Unsent()[0].At)
}
