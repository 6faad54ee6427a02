package memory

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// Clock is a clock that moves only when its user calls Advance or Set. It implements port.Clock. A queue that
// waits for a time of this clock wakes up when the clock reaches the time. A Clock is safe for concurrent
// use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*alarm // earliest first
}

// NewClock returns a clock whose time is start.
func NewClock(start time.Time) *Clock { return &Clock{now: start} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward by d. It calls the due functions of At in the calling goroutine, earliest
// first. Before each call, it moves the clock to the time of the function.
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

// Set moves the clock forward or back to t, like a corrected system clock. If t is later than now, it calls
// the functions of At that are due by t.
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

// At registers the function run, which the clock calls at the given time. If this time has already passed,
// the next Advance calls run. The returned function cancels the registration.
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

// Waiting returns the number of functions that At has registered. A test can wait for a registration before
// it advances the clock.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.alarms)
}

type alarm struct {
	at  time.Time
	run func()
}
