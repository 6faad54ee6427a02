package memory_test

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queuetest"
)

var queueOptions = queuetest.Options{
	KeepsValues: true, DeadLetters: true, Retentions: true, Once: true, LateDelete: true, ExactDepth: true,
}

func queuesOf(t *testing.T, clock port.Clock, configs []queuetest.Config, replyTo []string) *memory.Queues {
	t.Helper()
	queues, err := memory.NewQueues(clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		own := memory.QueueConfig{Name: c.Name, MaxReceives: c.MaxReceives, Retention: c.Retention}
		if c.DeadLetter != "" {
			own.DeadLetterTo = queue(t, queues, c.DeadLetter)
		}
		if err := queues.Add(own); err != nil {
			t.Fatal(err)
		}
	}
	if err := queues.AllowReplyTo(replyTo...); err != nil {
		t.Fatal(err)
	}
	return queues
}

func TestQueue(t *testing.T) {
	queuetest.Run(t, queueOptions,
		func(t *testing.T, configs []queuetest.Config, replyTo []string) queuetest.Backends {
			clock := memory.NewClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
			return queuetest.Backends{Queues: queuesOf(t, clock, configs, replyTo), Advance: clock.Advance,
				Sleepers: clock.Waiting}
		})
}

// TestQueueInRealTime runs on the machine's clock and its timers.
func TestQueueInRealTime(t *testing.T) {
	t.Parallel()
	options := queueOptions
	options.Unit = 300 * time.Millisecond
	options.Groups = []string{"poll", "together"}
	queuetest.Run(t, options,
		func(t *testing.T, configs []queuetest.Config, replyTo []string) queuetest.Backends {
			return queuetest.Backends{Queues: queuesOf(t, port.ClockFunc(time.Now), configs, replyTo)}
		})
}
