package schedule_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

// TestBefore: a sweep reads an earlier order only if its state decides whether the next order starts.
func TestBefore(t *testing.T) {
	now := core.TimeOf(at(t, "2026-11-21T14:00:00Z"))
	skip, allow := &core.Schedule{Overlap: core.OverlapSkip}, &core.Schedule{Overlap: core.OverlapAllow}
	first, sent := schedule.Start{OrderID: "first", Sent: true}, schedule.Start{OrderID: "last", Sent: true}
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
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOneReasonSkipsEachTime: while the earlier order has not ended, each scheduled time is skipped with the
// same reason.
func TestOneReasonSkipsEachTime(t *testing.T) {
	s := &core.Schedule{Cron: "@hourly", Overlap: core.OverlapSkip, CatchUp: core.Day}
	r := schedule.Record{Cron: s.Cron, Next: core.TimeOf(at(t, "2026-11-21T12:00:00Z")),
		Starts: []schedule.Start{{OrderID: "before", Sent: true}}}
	_, err := r.Decide("w", s, core.TimeOf(at(t, "2026-11-21T14:05:00Z")), "not ended")
	if err != nil || r.Missed != 3 || len(r.Starts) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, skipped := range r.Skipped {
		if skipped.Why != "not ended" {
			t.Errorf("%+v", skipped)
		}
	}
}
