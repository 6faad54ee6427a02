package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return v
}

// TestNext: in Berlin the clocks go from 2:00 to 3:00 on 29 March 2026, and from 3:00 to 2:00 on 25 October;
// on Lord Howe Island from 2:00 to 2:30 on 4 October, and from 2:00 to 1:30 on 5 April.
func TestNext(t *testing.T) {
	for _, c := range []struct{ name, cron, zone, after, want string }{
		{
			"the next of each day", "30 9 * * *", "Europe/Berlin", "2026-06-01T08:00:00Z",
			"2026-06-02T07:30:00Z",
		},
		{
			"a time that has just come is over", "30 9 * * *", "UTC", "2026-06-01T09:30:00Z",
			"2026-06-02T09:30:00Z",
		},
		{
			"a part of a second before it", "30 9 * * *", "UTC", "2026-06-01T09:29:59.999Z",
			"2026-06-01T09:30:00Z",
		},
		{"without a zone it is UTC", "0 0 1 1 *", "", "2026-06-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{
			"a name for five fields", "@daily", "America/New_York", "2026-01-01T06:00:00Z",
			"2026-01-02T05:00:00Z",
		},
		{"a leap day", "0 0 29 2 *", "UTC", "2026-06-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"names of days", "0 8 * * MON-FRI", "UTC", "2026-11-20T09:00:00Z", "2026-11-23T08:00:00Z"},

		{
			"in the gap of spring: at its end", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-29T01:00:00Z",
		},
		{
			"two times in the gap are one", "0,30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z",
			"2026-03-30T00:00:00Z",
		},
		{
			"after the gap, by the new offset", "30 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-29T01:30:00Z",
		},
		{
			"in the doubled hour of autumn: the first", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:30:00Z",
		},
		{"and not the second", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{
			"asked in the second of the doubled hour", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z",
			"2026-10-26T01:30:00Z",
		},
		{
			"every hour goes on through the doubled one", "0 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
			"2026-10-25T01:00:00Z",
		},
		{"and after it", "@hourly", "Europe/Berlin", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		{
			"every quarter of an hour that is named, when its clock shows it again", "*/15 2 * * *",
			"Europe/Berlin", "2026-10-25T00:45:00Z", "2026-10-25T01:00:00Z",
		},
		{
			"minutes that are named, in each hour", "5,35 * * * *", "Europe/Berlin", "2026-10-25T00:35:00Z",
			"2026-10-25T01:05:00Z",
		},
		{
			"every second hour is what the clock shows", "0 */2 * * *", "Europe/Berlin", "2026-10-25T01:00:00Z",
			"2026-10-25T03:00:00Z",
		},
		{
			"an interval in the gap is left out", "*/15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-30T00:00:00Z",
		},
		{
			"an interval of one day in years", "*/30 2 29 2 *", "Europe/Berlin", "2026-06-01T00:00:00Z",
			"2028-02-29T01:00:00Z",
		},
		{"Sunday is 7 too", "0 8 * * 7", "UTC", "2026-11-20T09:00:00Z", "2026-11-22T08:00:00Z"},
		{"a week that ends with 7", "0 8 * * 1-7", "UTC", "2026-11-21T09:00:00Z", "2026-11-22T08:00:00Z"},
		{"a part of it", "0 8 * * 5-7", "UTC", "2026-11-22T09:00:00Z", "2026-11-27T08:00:00Z"},
		{"with a step", "0 8 * * 1-7/3", "UTC", "2026-11-23T09:00:00Z", "2026-11-26T08:00:00Z"},
		{"by names", "0 8 * * MON-SUN", "UTC", "2026-11-21T09:00:00Z", "2026-11-22T08:00:00Z"},
		{"among others", "0 8 * * 3,6-7", "UTC", "2026-11-22T09:00:00Z", "2026-11-25T08:00:00Z"},
		{
			"a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			"2026-10-03T15:30:00Z",
		},
		{
			"a doubled half hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z",
			"2026-04-04T14:45:00Z",
		},
		{
			"west of Greenwich", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			"2026-03-08T07:00:00Z",
		},
	} {
		times, err := schedule.Parse(c.cron, c.zone)
		require.NoError(t, err)
		got, err := times.Next(at(t, c.after))
		require.NoError(t, err, c.name)
		require.True(t, got.Equal(at(t, c.want)), c.name)
	}
}

// TestNextGoesForward: through two years with both changes no time comes twice, and an interval never pauses.
func TestNextGoesForward(t *testing.T) {
	for _, zone := range []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC",
		"Asia/Kolkata",
	} {
		times, err := schedule.Parse("*/30 * * * *", zone)
		require.NoError(t, err)
		last := at(t, "2026-01-01T00:00:00Z")
		n := 0
		for last.Before(at(t, "2028-01-01T00:00:00Z")) {
			next, err := times.Next(last)
			require.NoError(t, err, zone)
			require.True(t, next.After(last), zone)
			require.Equal(t, 30*time.Minute, next.Sub(last), zone)
			last = next
			n = n + 1
		}
		require.Equal(t, 730*48, n, zone)
	}
}

func TestWrongSchedules(t *testing.T) {
	for _, c := range []struct{ cron, zone, want string }{
		{"", "UTC", "five fields"},
		{"* * * *", "UTC", "five fields"},
		{"* * * * * *", "UTC", "five fields"},
		{"@every 1s", "UTC", "is one of @hourly"},
		{"TZ=UTC 0 9 * *", "UTC", "the field zone"},
		{"61 * * * *", "UTC", `the minute is "61"; it is 0 to 59`},
		{"0 24 * * *", "UTC", `the hour is "24"; it is 0 to 23`},
		{"0 9 0 * *", "UTC", `the day of month is "0"; it is 1 to 31`},
		{"0 9 * 13 *", "UTC", `the month is "13"; it is 1 to 12, or JAN to DEC`},
		{"0 9 * * FUNDAY", "UTC", `the day of week is "FUNDAY"; it is 0 to 7`},
		{"0 9 * * 8", "UTC", `the day of week is "8"`},
		{"0 9 * * 1-8", "UTC", `the day of week is "1-8"`},
		{"0 9 * * 5-3", "UTC", `the day of week is "5-3"`},
		{"0 9 * * 1-7/0", "UTC", `the day of week is "1-7/0"`},
		{"*/0 9 * * *", "UTC", `the minute is "*/0"`},
		{"61 24 * * *", "UTC", "\ncron \"61 24 * * *\": the hour is"},
		{"0 0 30 2 *", "UTC", "does not fire within five years"},
		{"0 9 * * *", "Europe/Atlantis", "is unknown"},
		{"0 9 * * *", "Local", "same on every machine"},
	} {
		times, err := schedule.Parse(c.cron, c.zone)
		if err == nil {
			_, err = times.Next(at(t, "2026-11-23T00:00:00Z"))
		}
		require.ErrorContains(t, err, c.want, c.cron)
	}
}
