package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// inMemory are queues of an agent without a server, for synctest.
func inMemory(t *testing.T) site {
	t.Helper()
	queues, err := memory.NewQueues(port.ClockFunc(time.Now),
		[]memory.QueueConfig{{Name: "requests-payment"}, {Name: port.Replies}, {Name: port.Quarantine}})
	require.NoError(t, err)
	return site{
		Queues: queues, requests: "requests-payment", replies: port.Replies,
		quarantine: port.Quarantine,
	}
}

// counted notes how many messages a receive of requests wanted at most.
type counted struct {
	*memory.Queues
	most *int
}

type countedQueue struct {
	port.Queue
	most *int
}

func (c counted) Queue(name string) (port.Queue, error) {
	q, err := c.Queues.Queue(name)
	if name != "requests-payment" {
		return q, err
	}
	return countedQueue{q, c.most}, err
}

func (q countedQueue) Receive(ctx context.Context, n int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	*q.most = max(*q.most, n)
	return q.Queue.Receive(ctx, n, wait, visibility)
}

// Each option does what it says.
func TestOptions(t *testing.T) {
	for _, name := range []string{
		deployment.VarRuntimeAPI, deployment.VarLedger, deployment.VarLedgerFolder, deployment.VarRequestsURL,
		deployment.VarRepliesURL, deployment.VarQuarantineURL, deployment.VarQueuePrefix,
	} {
		t.Setenv(name, "")
	}
	boom := errors.New("boom")
	type seen struct {
		calls, atOnce, most int
		took                time.Duration // until Serve has ended, reported to at 5 s
		stats               worker.Stats
		err                 error
		log                 string
	}
	quiet := agent.WithRetry(agent.Retry{Tries: 1})
	sleep := func(d time.Duration) func() error { return func() error { time.Sleep(d); return nil } }
	for name, tt := range map[string]struct {
		options []agent.Option
		grade   core.Grade
		run     func() error
		right   func(s seen) bool
	}{
		"concurrency": {
			[]agent.Option{agent.WithConcurrency(3)},
			core.Idempotent, sleep(time.Second),
			func(s seen) bool { return s.atOnce == 3 && s.stats.Done == 12 && s.most == 3 },
		},
		"default": {
			nil, core.Idempotent, sleep(time.Second),
			func(s seen) bool { return s.atOnce == 10 && s.stats.Done == 12 && s.most == 5 },
		},
		"batch": {
			[]agent.Option{agent.WithBatch(2)},
			core.Idempotent, sleep(time.Second),
			func(s seen) bool { return s.atOnce == 10 && s.most == 2 },
		},
		"drain": {
			[]agent.Option{agent.WithDrain(7 * time.Second)},
			core.Idempotent, sleep(11 * time.Second),
			func(s seen) bool { return s.err == nil && s.took == 11*time.Second && s.stats.Done == 10 },
		},
		"no drain": {
			[]agent.Option{agent.WithDrain(time.Second)},
			core.Idempotent, sleep(11 * time.Second),
			func(s seen) bool { return errors.Is(s.err, worker.ErrUndrained) && s.took == 7*time.Second },
		},
		"one try": {
			[]agent.Option{quiet, agent.WithBreaker(agent.Breaker{Failures: 1})},
			core.Idempotent,
			func() error { return boom },
			func(s seen) bool { return s.stats.Retried == 0 && s.stats.Breakers["charge"] == "open" },
		},
		"two tries": {
			[]agent.Option{
				agent.WithRetry(agent.Retry{Tries: 2}), agent.WithBreaker(agent.Breaker{Off: true}),
			},
			core.Idempotent, func() error { return boom },
			func(s seen) bool { return s.calls == 24 && len(s.stats.Breakers) == 0 },
		},
		"no ledger": {
			[]agent.Option{quiet},
			core.Plain, sleep(0),
			func(s seen) bool { return s.calls == 0 && s.stats.RetryLater == 12 },
		},
		"a ledger": {
			[]agent.Option{quiet, agent.WithLedger(memory.NewLedger())},
			core.Plain, sleep(0),
			func(s seen) bool { return s.calls == 1 && s.stats.Done > 0 },
		},
		"a clock": {
			[]agent.Option{
				agent.WithClock(port.ClockFunc(func() time.Time { return time.Now().Add(time.Hour) })),
			},
			core.Idempotent, sleep(0),
			func(s seen) bool { return s.calls == 0 && s.stats.DroppedLate == 12 },
		},
		"a log": {
			nil, core.Idempotent, sleep(0),
			func(s seen) bool { return strings.Contains(s.log, "the agent takes requests") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s seen
				var mu sync.Mutex
				now := 0
				var log strings.Builder
				queues := inMemory(t)
				for range 12 {
					ask(t, queues, tt.grade, 1)
				}
				run := agent.Operation{Run: func(context.Context, agent.Call) (any, error) {
					mu.Lock()
					s.calls = s.calls + 1
					now = now + 1
					s.atOnce = max(s.atOnce, now)
					mu.Unlock()
					err := tt.run()
					mu.Lock()
					now--
					mu.Unlock()
					return nil, err
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				s.err = agent.Serve(ctx, "payment", agent.Operations{"charge": run},
					append(tt.options, agent.WithQueues(counted{queues.Queues, &s.most}),
						agent.WithLog(slog.New(slog.NewTextHandler(&log, nil))), agent.WithStats(
							func(st worker.Stats) { s.stats = st }))...)
				s.took = time.Since(start)
				s.log = log.String()
				mu.Lock() // what was not drained is still at work
				require.True(t, tt.right(s))
				mu.Unlock()
				time.Sleep(time.Minute) // what heeds no context ends inside the bubble
			})
		})
	}
}
