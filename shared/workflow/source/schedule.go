package source

import (
	"errors"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

// since is a fixed start time for the checks of schedules. With the present time, the validity of a file
// could change from day to day.
var since = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (b *builder) schedule() *core.Schedule {
	v := b.root.get("schedule")
	if v == nil || v.shape != isMap {
		return nil
	}
	s := &core.Schedule{
		Cron: b.text(v, "cron"), Zone: b.text(v, "zone"), Overlap: core.OverlapSkip,
		CatchUp: b.duration(v, "catchUp", limitCatchUp, core.Hour),
	}
	if overlap := b.text(v, "overlap"); overlap != "" {
		s.Overlap = core.Overlap(overlap)
	}
	if f := v.get("catchUp"); f != nil && s.CatchUp < schedule.MinCatchUp {
		b.error(f.at, "catchUp is shorter than 10m: a start waits for the Supervisor's next sweep").
			fix("write 10m or longer")
	}
	if s.Cron != "" {
		b.fires(v, s)
	}
	b.scheduled(v.get("input"), s)
	return s
}

// fires checks the cron expression and the time zone of a schedule.
func (b *builder) fires(v *value, s *core.Schedule) {
	at := v.get("cron").at
	if _, err := schedule.Parse("@daily", s.Zone); err != nil {
		at = v.get("zone").at
	}
	times, err := schedule.Parse(s.Cron, s.Zone)
	if err == nil {
		_, err = times.Next(since)
	}
	for _, err := range each(err) {
		b.error(at, "%s", err).fix(`write it as in cron: "30 2 * * *" and zone: Europe/Berlin`)
	}
}

// each returns the parts of an error from errors.Join, or the error itself.
func each(err error) []error {
	var all interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &all):
		return all.Unwrap()
	}
	return []error{err}
}

// scheduled reads the content for the orders of a schedule. The content must be plain data without
// expressions.
func (b *builder) scheduled(v *value, s *core.Schedule) {
	if v == nil || v.shape != isMap {
		return
	}
	holes := 0
	template := b.appendTemplate(nil, v, expression.Scope{}, &holes)
	if holes > 0 {
		b.error(v.at, "the input of a schedule holds an expression, and there is no order yet that it could read").
			fix("write plain data; each order gets the field scheduledTime")
		return
	}
	input, err := expression.Plain(template)
	if b.problems.Err() == nil { // otherwise the cause may have been reported
		b.faulty(v.at, err)
	}
	s.Input = input
	if f := v.field("scheduledTime"); f != nil {
		b.error(f.at, "the input has the field scheduledTime, which each start sets itself").
			fix("give it another name")
	}
	order, err := schedule.Order(s, core.TimeOf(since))
	if err != nil || len(order) > port.MaxOrder-1024 { // the message to the Scheduler also contains names
		b.error(v.at, "the input takes %d bytes as an order, the limit is %d", len(order), port.MaxOrder-1024).
			fix("store the data elsewhere, and give a reference")
	}
}
