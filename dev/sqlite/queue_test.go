package sqlite_test

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port/queuetest"
)

func queueOptions(configs []queuetest.Config, replyTo []string) sqlite.Options {
	o := sqlite.Options{ReplyTo: replyTo}
	for _, c := range configs {
		o.Queues = append(o.Queues, sqlite.QueueConfig{Name: c.Name, Retention: c.Retention})
	}
	return o
}

func TestQueue(t *testing.T) {
	options := queuetest.Options{Retentions: true, Once: true, LateDelete: true, ExactDepth: true,
		Messages: 400}
	queuetest.Run(t, options,
		func(t *testing.T, configs []queuetest.Config, replyTo []string) queuetest.Backends {
			o := queueOptions(configs, replyTo)
			c := memory.NewClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
			o.Clock = c
			s := open(t, t.TempDir(), o)
			return queuetest.Backends{Queues: s.Queues(), Advance: c.Advance, Sleepers: c.Waiting,
				Close: func() { s.Close() }}
		})
}

// TestQueueInRealTime runs on the machine's clock and its timers.
func TestQueueInRealTime(t *testing.T) {
	t.Parallel()
	options := queuetest.Options{Unit: 300 * time.Millisecond, Groups: []string{"poll", "together"},
		Once: true, Messages: 400}
	queuetest.Run(t, options,
		func(t *testing.T, configs []queuetest.Config, replyTo []string) queuetest.Backends {
			s := open(t, t.TempDir(), queueOptions(configs, replyTo))
			return queuetest.Backends{Queues: s.Queues(), Close: func() { s.Close() }}
		})
}
