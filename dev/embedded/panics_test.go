package embedded_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// panickyClock panics while it is broken.
type panickyClock struct{ broken atomic.Bool }

func (c *panickyClock) Now() time.Time {
	if c.broken.Load() {
		panic("the clock")
	}
	return time.Now()
}

func (c *panickyClock) At(at time.Time, run func()) (stop func()) {
	return port.ClockFunc(c.Now).At(at, run)
}

// Parts of the runtime that panic do not end the process: each goes on by itself, and orders run.
func TestPartsThatPanicGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "5s")
		var clock panickyClock
		w.options.Clock = &clock
		log := w.logs()
		w.options.StatisticsEvery = 50 * time.Millisecond
		s := w.open()
		submit(t, s, "before", "")
		wait(t, s, "before")
		before := port.Panics()
		clock.broken.Store(true)
		eventually(t, "parts panic", func() bool { return port.Panics() >= before+4 })
		clock.broken.Store(false)
		submit(t, s, "after", "")
		require.Equal(t, core.Processed, wait(t, s, "after").ProcessState)
		require.True(t, s.Health(t.Context()).Ready, "it is not ready")
		closeRuntime(t, s)
		require.Contains(t, log.String(), "the Supervisor panicked; the process goes on")
	})
}
