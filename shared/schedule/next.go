package schedule

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // Lambda and Windows have no time zone files

	"github.com/robfig/cron/v3"
)

// Times computes the scheduled times of a parsed cron expression in a time zone.
type Times struct {
	expression string
	fires      cron.Schedule
	loc        *time.Location
	interval   bool // true if the minute or the hour has a *, or for @hourly
}

// Parse parses a cron expression and the name of a time zone. "" means UTC. The error joins one error for
// each invalid field.
func Parse(expression, zone string) (Times, error) {
	loc, err := location(zone)
	if err != nil {
		return Times{}, err
	}
	fires, interval, err := parse(expression)
	return Times{expression, fires, loc, interval}, err
}

// Next returns the first scheduled time after the given time. It returns an error if there is none within
// five years. A clock change affects the two kinds of schedules differently:
//
//   - A schedule with a * for the minute or the hour fires whenever the clock of the zone shows a scheduled
//     time. If the clock shows a time twice, the schedule fires twice.
//   - Any other schedule fires once for each scheduled time. If the clock skips the time, the schedule fires
//     at the end of the gap. If the clock shows the time twice, the schedule fires the first time.
func (s Times) Next(after time.Time) (time.Time, error) {
	if s.interval {
		return s.nextShown(after)
	}
	wall := s.shown(after)
	for {
		wall = s.fires.Next(wall)
		if wall.IsZero() {
			return time.Time{}, s.never()
		}
		if at := s.instant(wall); at.After(after) {
			return at, nil
		}
	}
}

// nextShown returns the next instant at which the clock of the zone shows a scheduled time. It searches each
// period between two clock changes in turn.
func (s Times) nextShown(after time.Time) (time.Time, error) {
	for from, last := after, after.AddDate(5, 0, 0); from.Before(last); {
		wall := s.shown(from)
		next := s.fires.Next(wall)
		if next.IsZero() {
			break
		}
		at := from.Truncate(time.Second).Add(next.Sub(wall))
		_, change := from.In(s.loc).ZoneBounds()
		if change.IsZero() || at.Before(change) {
			return at, nil
		}
		if shown := s.shown(change); s.fires.Next(shown.Add(-time.Second)).Equal(shown) {
			return change, nil
		}
		from = change
	}
	return time.Time{}, s.never()
}

// shown returns the time that the clock of the zone shows, as a time in UTC with the same fields.
func (s Times) shown(at time.Time) time.Time {
	local := at.In(s.loc)
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(),
		0, time.UTC)
}

func (s Times) never() error {
	return fmt.Errorf("cron %q does not fire within five years", s.expression)
}

func location(zone string) (*time.Location, error) {
	if zone == "Local" { // Local is a different zone on each machine
		return nil,
			errors.New(`the time zone "Local" is not the same on every machine; name one as in Europe/Berlin`)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("the time zone %q is unknown; name one as in Europe/Berlin or UTC", zone)
	}
	return loc, nil
}

// instant is the inverse of shown. It returns the first instant at which the clock of the zone shows the time
// wall. If a clock change skips this time, instant returns the end of the gap.
func (s Times) instant(wall time.Time) time.Time {
	var first, beforeGap time.Time
	// The offset at wall is the offset of the day before or of the day after.
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
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
