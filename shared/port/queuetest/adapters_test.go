package queuetest_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

var inMemory = Options{
	KeepsValues: true, DeadLetters: true, Retentions: true, Once: true, LateDelete: true, ExactDepth: true,
}

func memoryQueues(t *testing.T, clock port.Timer, configs []Config, replyTo []string) *memory.Queues {
	t.Helper()
	queues, err := memory.NewQueues(clock, nil)
	for _, c := range configs {
		own := memory.QueueConfig{Name: c.Name, MaxReceives: c.MaxReceives, Retention: c.Retention}
		if c.DeadLetter != "" {
			own.DeadLetterTo, _ = queues.Queue(c.DeadLetter)
		}
		err = errors.Join(err, queues.Add(own))
	}
	require.NoError(t, errors.Join(err, queues.AllowReplyTo(replyTo...)))
	return queues
}

func TestMemory(t *testing.T) {
	Run(t, inMemory, func(t *testing.T, configs []Config, replyTo []string) Backends {
		clock := memory.NewClock(start)
		return Backends{
			Queues: memoryQueues(t, clock, configs, replyTo), Advance: clock.Advance,
			Sleepers: clock.Waiting,
		}
	})
}

// TestMemoryByTimers runs on the machine's clock and its timers.
func TestMemoryByTimers(t *testing.T) {
	options := inMemory
	options.Virtual = true
	Run(t, options, func(t *testing.T, configs []Config, replyTo []string) Backends {
		return Backends{Queues: memoryQueues(t, port.ClockFunc(time.Now), configs, replyTo)}
	})
}

func sqliteBackends(t *testing.T, clock port.Timer, configs []Config, replyTo []string) Backends {
	t.Helper()
	o := sqlite.Options{ReplyTo: replyTo, Clock: clock}
	for _, c := range configs {
		o.Queues = append(o.Queues, sqlite.QueueConfig{Name: c.Name, Retention: c.Retention})
	}
	s, err := sqlite.Open(t.Context(), t.TempDir(), o)
	require.NoError(t, err)
	return Backends{Queues: s.Queues(), Close: func() { s.Close() }}
}

func TestSQLite(t *testing.T) {
	Run(t, Options{Retentions: true, Once: true, LateDelete: true, ExactDepth: true, Messages: 400},
		func(t *testing.T, configs []Config, replyTo []string) Backends {
			clock := memory.NewClock(start)
			b := sqliteBackends(t, clock, configs, replyTo)
			b.Advance = clock.Advance
			b.Sleepers = clock.Waiting
			return b
		})
}

// TestSQLiteByTimers runs on the machine's clock and its timers.
func TestSQLiteByTimers(t *testing.T) {
	Run(t, Options{
		Virtual: true, Groups: []string{"poll", "together"}, Once: true,
		Messages: 400,
	}, func(t *testing.T, configs []Config, replyTo []string) Backends {
		return sqliteBackends(t, nil, configs, replyTo)
	})
}

// TestSQS runs through the SDK and the protocol that `stepkeeper dev` serves.
func TestSQS(t *testing.T) {
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE",
		"AWS_ENDPOINT_URL",
	} {
		t.Setenv(name, "")
	}
	Run(t, Options{
		Unit: time.Second, DeadLetters: true, Once: true, LateDelete: true, LosesPolls: true,
		ExactDepth: true, Messages: 200,
	}, func(t *testing.T, configs []Config, replyTo []string) Backends {
		clock := memory.NewClock(start)
		inner := memoryQueues(t, clock, configs, replyTo)
		server := httptest.NewServer(sqsproto.New(sqsproto.Config{Queues: inner, Clock: clock}))
		t.Cleanup(server.Close)
		c, err := awsclient.Load(context.Background(), awsclient.Options{Endpoint: server.URL})
		require.NoError(t, err)
		c.RetryMaxAttempts = 1
		return Backends{
			Queues:  sqs.New(c, sqs.Config{LookUp: true, ReplyTo: replyTo}),
			Advance: clock.Advance, Sleepers: clock.Waiting,
		}
	})
}
