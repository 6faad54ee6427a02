package core

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Time is a moment in milliseconds since the Unix epoch, UTC. Zero means "no time". For example, a step whose
// CompleteBy is zero has no complete-by time. The JSON form is RFC 3339 with milliseconds.
type Time int64

// Duration is a span in milliseconds. The JSON form is a number of milliseconds.
type Duration int64

// Units of Duration.
const (
	Millisecond Duration = 1
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
	Day                  = 24 * Hour
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// TimeOf converts a time.Time, and cuts it to milliseconds. The zero time.Time becomes "no time".
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Std returns the time as a time.Time. For "no time" it returns the zero time.Time.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// maxTime is the last millisecond of the year 9999, the last year in RFC 3339.
const maxTime = Time(253402300799999)

// InRange reports whether the time is in the years 1970 to 9999. Every stored time is in this range.
func (t Time) InRange() bool { return t >= 0 && t <= maxTime }

// Add returns t + d. It returns "no time" if t is "no time".
func (t Time) Add(d Duration) Time {
	if t == 0 {
		return 0
	}
	return t + Time(d)
}

// Sub returns t - u.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Passed reports whether t is set and is not later than now.
func (t Time) Passed(now Time) bool { return t != 0 && t <= now }

func (t Time) String() string {
	if t == 0 {
		return ""
	}
	b, _ := t.AppendText(make([]byte, 0, len(timeLayout)))
	return string(b)
}

// AppendText appends the time in RFC 3339 with milliseconds. For a time in range, AppendText allocates
// nothing and parses no layout, unlike time.Time.Format.
func (t Time) AppendText(b []byte) ([]byte, error) {
	switch {
	case t == 0:
		return b, nil
	case !t.InRange():
		return t.Std().AppendFormat(b, timeLayout), nil
	}
	year, month, day := t.Std().Date()
	ms := int(t % Time(Day))
	b = append(digits(digits(b, year/100), year%100), '-')
	b = append(digits(b, int(month)), '-')
	b = append(digits(b, day), 'T')
	b = append(digits(b, ms/3_600_000), ':')
	b = append(digits(b, ms/60_000%60), ':')
	b = append(digits(b, ms/1000%60), '.', byte('0'+ms/100%10))
	return append(digits(b, ms%100), 'Z'), nil
}

func digits(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// MarshalJSON returns the time in RFC 3339 with milliseconds in quotes, or null for "no time".
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	b := make([]byte, 0, len(timeLayout)+2)
	b = append(b, '"')
	b, _ = t.AppendText(b)
	return append(b, '"'), nil
}

// UnmarshalJSON reads any RFC 3339 time and cuts it to milliseconds. null and "" mean "no time".
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" || string(b) == `""` {
		*t = 0
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("time %.40q is not a string in RFC 3339, like \"2026-11-21T10:00:00.000Z\"", b)
	}
	std, err := ParseTime(string(b[1 : len(b)-1]))
	if err != nil {
		return fmt.Errorf("time %.40q is not RFC 3339, like \"2026-11-21T10:00:00.000Z\"", b)
	}
	*t = TimeOf(std)
	return nil
}

// leapSecond matches a time whose seconds are 60.
var leapSecond = regexp.MustCompile(`^(.{17})60(.*)$`)

// ParseTime reads a time in RFC 3339. It also accepts what time.Parse refuses: t and z in lower case, and a leap
// second, which becomes the first second of the next day, as in Unix time.
func ParseTime(text string) (time.Time, error) {
	text = strings.ToUpper(text)
	t, err := time.Parse(time.RFC3339, text)
	if err == nil || !leapSecond.MatchString(text) {
		return t, err
	}
	before, unknown := time.Parse(time.RFC3339, leapSecond.ReplaceAllString(text, "${1}59${2}"))
	if at := before.UTC(); unknown != nil || at.Hour() != 23 || at.Minute() != 59 {
		return t, err
	}
	return before.Add(time.Second), nil
}

// DurationOf converts a time.Duration, and rounds it up to a whole millisecond.
func DurationOf(d time.Duration) Duration {
	whole := Duration(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		whole++
	}
	return whole
}

// Std returns the duration as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) * time.Millisecond }

func (d Duration) String() string { return d.Std().String() }

var units = map[string]Duration{
	"ms": Millisecond, "s": Second, "m": Minute, "h": Hour, "d": Day,
}

// ParseDuration parses a duration such as 250ms, 1.5h, 1h30m or 7d. It drops fractions of a millisecond. It returns
// false if the text is no duration.
func ParseDuration(text string) (Duration, bool) {
	total := 0.0
	if text == "" {
		return 0, false
	}
	for text != "" {
		n := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if n <= 0 || n > 13 {
			return 0, false
		}
		number, err := strconv.ParseFloat(text[:n], 64)
		text = text[n:]
		m := strings.IndexFunc(text, func(r rune) bool { return r >= '0' && r <= '9' })
		if m < 0 {
			m = len(text)
		}
		unit, ok := units[text[:m]]
		if err != nil || !ok {
			return 0, false
		}
		total += number * float64(unit)
		text = text[m:]
	}
	if total > float64(math.MaxInt64/4) {
		total = float64(math.MaxInt64 / 4)
	}
	return Duration(total), true
}
