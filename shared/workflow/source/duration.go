package source

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

type limit struct {
	longest core.Duration
	text    string
}

var (
	limitTimeout   = limit{12 * core.Hour, "12h, the longest that a queue hides a message"}
	limitQueue     = limit{14 * core.Day, "14d, the longest that a queue keeps a message"}
	limitPoll      = limit{31 * core.Day, "31d; an event step can wait for longer"}
	limitDeadline  = limit{365 * core.Day, "365d"}
	limitGrace     = limit{core.Day, "24h"}
	limitBackoff   = limit{core.Day, "24h"}
	limitWait      = limit{core.MaxWait, "366d"}
	limitCatchUp   = limit{schedule.MaxCatchUp, "31d"}
	limitExtended  = limit{7 * core.Day, "7d"}
	limitAllowance = limit{core.Day, "24h"}
	limitSkew      = limit{core.Hour, "1h"}
	limitRetention = limit{3650 * core.Day, "3650d"}
)

// duration returns the duration in a field of v. It returns the parameter absent if the field is absent or
// invalid.
func (b *builder) duration(v *value, key string, most limit, absent core.Duration) core.Duration {
	f := v.get(key)
	if f == nil || f.shape != isText {
		return absent
	}
	d, ok := core.ParseDuration(f.text)
	switch {
	case !ok:
		return absent
	case d <= 0:
		b.error(f.at, "%s is zero, or shorter than 1ms", key).fix(fixDuration)
		return absent
	case d > most.longest:
		b.error(f.at, "%s is longer than %s", key, most.text).fix("write a shorter time")
		return absent
	}
	return d
}
