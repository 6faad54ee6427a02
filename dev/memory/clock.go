package memory

import (
	"container/heap"
	"sync"
	"time"
)

// Clock is a clock that only moves on request. It implements port.Clock. Queues that wait on it wake up when
// it is advanced. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	alarms alarms
	seq    int
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
		a := heap.Pop(&c.alarms).(*alarm)
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

// Set jumps to t, forward or back, as a clock that was corrected does. What was due until t runs.
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

// At calls run once the clock shows at or later; the function returned takes it back. Where at
// has come already, it runs with the next Advance.
func (c *Clock) At(at time.Time, run func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	a := &alarm{at: at, seq: c.seq, run: run}
	heap.Push(&c.alarms, a)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.place >= 0 {
			heap.Remove(&c.alarms, a.place)
		}
	}
}

// Waiting returns the number of alarms. Tests wait for it before they advance.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.alarms)
}

type alarm struct {
	at    time.Time
	seq   int
	place int
	run   func()
}

type alarms []*alarm

func (a alarms) Len() int { return len(a) }
func (a alarms) Less(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].seq < a[j].seq
}
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}
func (a *alarms) Push(x any) {
	x.(*alarm).place = len(*a)
	*a = append(*a, x.(*alarm))
}
func (a *alarms) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*a = old[:len(old)-1]
	last.place = -1
	return last
}
