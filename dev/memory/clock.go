package memory

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// Clock is a clock that only moves on request. It implements port.Clock. Queues that wait on it wake up when
// it is advanced. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*alarm // earliest first
}

// NewClock returns a clock that shows start.
func NewClock(start time.Time) *Clock { return &Clock{now: start} }

// Now returns the shown time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward by d and runs the due alarms in this goroutine, in the order of their
// times. While one runs, the clock shows its time.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	for len(c.alarms) > 0 && !c.alarms[0].at.After(end) {
		a := c.alarms[0]
		c.alarms = slices.Delete(c.alarms, 0, 1)
		if a.at.After(c.now) {
			c.now = a.at
		}
		c.mu.Unlock()
		a.run()
		c.mu.Lock()
	}
	if end.After(c.now) {
		c.now = end
	}
	c.mu.Unlock()
}

// Set jumps to t, forward or back, like a corrected clock. Alarms that are due by t run.
func (c *Clock) Set(t time.Time) {
	now := c.Now()
	if t.After(now) {
		c.Advance(t.Sub(now))
		return
	}
	c.mu.Lock()
	c.now = t
	c.mu.Unlock()
}

// At calls run when the clock reaches the time at. If that time has passed already, run is called at the
// next Advance. stop cancels it.
func (c *Clock) At(at time.Time, run func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{at: at, run: run}
	place := sort.Search(len(c.alarms), func(i int) bool { return c.alarms[i].at.After(at) })
	c.alarms = slices.Insert(c.alarms, place, a)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.alarms = slices.DeleteFunc(c.alarms, func(other *alarm) bool { return other == a })
	}
}

// Waiting returns the number of alarms. Tests wait for it before they advance.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.alarms)
}

type alarm struct {
	at  time.Time
	run func()
}
