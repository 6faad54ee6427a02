package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
)

// tags lists the names that a schedule may use instead of five fields.
var tags = []string{"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}

// fields lists the fields of a cron expression with their valid values.
var fields = []struct{ name, holds string }{
	{"minute", "0 to 59"},
	{"hour", "0 to 23"},
	{"day of month", "1 to 31"},
	{"month", "1 to 12, or JAN to DEC"},
	{"day of week", "0 to 7, where 0 and 7 are Sunday, or SUN to SAT"},
}

const dayOfWeek = 4 // index in fields

// parse parses a cron expression. interval is true for @hourly. It is also true if the field for the minute
// or the hour begins with * or ?. Times.Next describes what interval changes.
func parse(expression string) (s cron.Schedule, interval bool, err error) {
	if slices.Contains(tags, expression) {
		s, err = cron.ParseStandard(expression)
		return s, expression == "@hourly", err
	}
	given := strings.Fields(expression)
	switch {
	case strings.HasPrefix(expression, "@"):
		return nil, false, fmt.Errorf("cron %q is unknown; it is one of %s, or has five fields", expression,
			strings.Join(tags, ", "))
	case strings.Contains(expression, "="):
		return nil, false, fmt.Errorf("cron %q names a zone; write that as the field zone of the schedule",
			expression)
	case len(given) != len(fields):
		return nil, false, fmt.Errorf("cron %q has %d fields; it has five fields (minute, hour, day of "+
			"month, month, day of week), or is one of %s", expression, len(given), strings.Join(tags,
			", "))
	}
	given[dayOfWeek] = daysOfWeek(given[dayOfWeek])
	var errs []error
	for i, text := range given {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = text
		if _, err := cron.ParseStandard(strings.Join(alone, " ")); err != nil {
			errs = append(errs, fmt.Errorf("cron %q: the %s is %q; it is %s: a value, a range 1-5, every "+
				"fifth */5, or several with commas", expression, fields[i].name,
				strings.Fields(expression)[i], fields[i].holds))
		}
	}
	if len(errs) > 0 {
		return nil, false, errors.Join(errs...)
	}
	s, err = cron.ParseStandard(strings.Join(given, " "))
	return s, wild(given[0]) || wild(given[1]), err
}

func wild(field string) bool { return strings.HasPrefix(field, "*") || strings.HasPrefix(field, "?") }

var dayNames = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

// daysOfWeek rewrites the field for the day of the week for the cron library, which accepts Sunday only as 0.
// It replaces 7 by 0, and a range that ends with Sunday by a list. It does not change invalid texts.
func daysOfWeek(field string) string {
	parts := strings.Split(field, ",")
	for i, part := range parts {
		span, step, stepped := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(span, "-")
		low := dayOf(first)
		high := dayOf(last)
		every := 1
		if stepped {
			every, _ = strconv.Atoi(step) // 0 if step is not a number
		}
		switch {
		case !isRange && !stepped && low == 7:
			parts[i] = "0"
		case isRange && high == 0 && low > 0:
			high = 7
			fallthrough
		case isRange && high == 7 && low >= 0 && every > 0:
			var days []string
			for day := low; day <= high && every > 0; day += every {
				days = append(days, strconv.Itoa(day%7))
			}
			parts[i] = strings.Join(days, ",")
		}
	}
	return strings.Join(parts, ",")
}

// dayOf returns the number of a day of the week, from 0 to 7. It returns -1 if the text does not name a day.
func dayOf(text string) int {
	if n := slices.Index(dayNames, strings.ToUpper(text)); n >= 0 {
		return n
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 7 {
		return n
	}
	return -1
}
