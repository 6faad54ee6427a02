package port_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Two times differ by what has passed for everybody, also if the process was frozen between them: require.Equal compares
// their monotonic readings too.
func TestClockHasNoMonotonicReading(t *testing.T) {
	now := time.Now()
	clock := port.ClockFunc(func() time.Time { return now })
	require.NotEqual(t, now.Round(0), now)
	require.Equal(t, now.Round(0), clock.Now())
}

func TestRecent(t *testing.T) {
	now := time.Now()
	for age, want := range map[time.Duration]bool{
		0: true, time.Minute - 1: true, time.Minute: false, -1: false, -time.Hour: false,
	} {
		require.Equal(t, want, port.Recent(now.Add(-age), now, time.Minute), age)
	}
	require.False(t, port.Recent(time.Time{}, now, time.Minute), "never")
}
