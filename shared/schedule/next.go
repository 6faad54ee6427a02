package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a function on Lambda, and a laptop with Windows, have no zones of their own

	"github.com/robfig/cron/v3"
)

// tags are the names that stand for an expression of five fields.
var tags = []string{"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}

// Times are those at which a schedule fires.
type Times struct {
	expression string
	fires      cron.Schedule
	loc        *time.Location
}

// Parse reads a cron expression, and the name of a time zone; "" is UTC.
func Parse(expression, zone string) (Times, error) {
	loc, err := location(zone)
	if err != nil {
		return Times{}, err
	}
	fires, err := parse(expression)
	return Times{expression, fires, loc}, err
}

// Next is the first time after the one given, by the clock of the zone. A time in the hour that a clock change leaves out is the
// end of that gap, and one in the hour that it doubles is the first of the two. The error says that there is none in five years.
func (s Times) Next(after time.Time) (time.Time, error) {
	local := after.In(s.loc)
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, time.UTC)
	for {
		if wall = s.fires.Next(wall); wall.IsZero() {
			return time.Time{}, fmt.Errorf("cron %q does not fire within five years", s.expression)
		}
		if at := s.instant(wall); at.After(after) {
			return at, nil
		}
	}
}

func parse(expression string) (cron.Schedule, error) {
	if slices.Contains(tags, expression) || len(strings.Fields(expression)) == 5 && !strings.Contains(expression, "=") { // no zone of its own
		if s, err := cron.ParseStandard(expression); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("cron %q is no expression of five fields (minute, hour, day of month, month, day of week) or one of %s",
		expression, strings.Join(tags, ", "))
}

func location(zone string) (*time.Location, error) {
	if zone == "Local" { // it would be another zone on each machine
		return nil, errors.New(`the time zone "Local" is not the same on every machine; name one as in Europe/Berlin`)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("the time zone %q is unknown; name one as in Europe/Berlin or UTC", zone)
	}
	return loc, nil
}

// instant is when the clocks of the zone show the time given, which is written in UTC.
func (s Times) instant(wall time.Time) time.Time {
	var first, beforeGap time.Time
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} { // the offsets before and after a change
		_, offset := wall.Add(near).In(s.loc).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		shown := at.In(s.loc)
		_, is := shown.Zone()
		if is == offset && (first.IsZero() || at.Before(first)) {
			first = at
		}
		if beforeGap.IsZero() || at.Before(beforeGap) {
			beforeGap = at
		}
	}
	if !first.IsZero() {
		return first
	}
	_, end := beforeGap.In(s.loc).ZoneBounds()
	return end
}
