package sqlite_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port/queuetest"
)

// clock stands still until it is moved; what waits on it is called when its time has come.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	alarms map[int]alarm
	next   int
}

type alarm struct {
	at  time.Time
	run func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) At(at time.Time, run func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	n := c.next
	c.alarms[n] = alarm{at, run}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.alarms, n)
	}
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for n, a := range c.alarms {
		if !a.at.After(c.now) {
			due = append(due, a.run)
			delete(c.alarms, n)
		}
	}
	c.mu.Unlock()
	for _, run := range due {
		run()
	}
}

func (c *clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.alarms)
}

func queueOptions(configs []queuetest.Config, replyTo []string) sqlite.Options {
	o := sqlite.Options{ReplyTo: replyTo}
	for _, c := range configs {
		o.Queues = append(o.Queues, sqlite.QueueConfig{Name: c.Name, Retention: c.Retention})
	}
	return o
}

func TestQueue(t *testing.T) {
	options := queuetest.Options{Retentions: true, Once: true, LateDelete: true, ExactDepth: true, Messages: 400}
	queuetest.Run(t, options, func(t *testing.T, configs []queuetest.Config, replyTo []string) queuetest.Backends {
		o := queueOptions(configs, replyTo)
		c := &clock{now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), alarms: map[int]alarm{}}
		o.Clock = c
		s := open(t, t.TempDir(), o)
		return queuetest.Backends{Queues: s.Queues(), Advance: c.Advance, Sleepers: c.Waiting, Close: func() { s.Close() }}
	})
}

// TestQueueInRealTime runs on the machine's clock and its timers.
func TestQueueInRealTime(t *testing.T) {
	t.Parallel()
	options := queuetest.Options{Unit: 300 * time.Millisecond, Groups: []string{"poll", "together"}, Once: true, Messages: 400}
	queuetest.Run(t, options, func(t *testing.T, configs []queuetest.Config, replyTo []string) queuetest.Backends {
		s := open(t, t.TempDir(), queueOptions(configs, replyTo))
		return queuetest.Backends{Queues: s.Queues(), Close: func() { s.Close() }}
	})
}
