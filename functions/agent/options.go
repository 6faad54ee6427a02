package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Retry sets the agent's own retries within one attempt of a step.
type Retry = worker.Retry

// Breaker configures the circuit breakers. Each operation has a separate breaker.
type Breaker = worker.Breaker

// Option changes a setting of Serve. On Lambda only WithRetry, WithBreaker, WithLedger and WithLog
// have an effect, because the deployment determines the other settings.
type Option func(*settings)

type settings struct {
	concurrency, batch int
	drain              time.Duration
	retry              Retry
	breaker            Breaker
	ledger             port.Ledger
	ledgerFolder       string
	openFolder         OpenLedger // may be nil
	queues             port.Queues
	log                *slog.Logger
	clock              port.Clock
	stats              func(worker.Stats)
}

// WithConcurrency sets the number of requests that the agent handles concurrently; default 10. On
// Lambda the option has no effect. There the agent handles all messages of an event concurrently, and
// the event source mapping limits the number of concurrent events.
func WithConcurrency(n int) Option { return func(s *settings) { s.concurrency = n } }

// WithBatch sets the number of requests that the agent receives at once, 1 to 10; default 5. On Lambda the
// event source mapping sets this number.
func WithBatch(n int) Option { return func(s *settings) { s.batch = n } }

// WithDrain sets how long Serve waits for running requests after the context has ended; default 3 s. On
// Lambda every invocation runs to its end.
func WithDrain(d time.Duration) Option { return func(s *settings) { s.drain = d } }

// WithRetry sets the agent's retries within one attempt of a step.
func WithRetry(r Retry) Option { return func(s *settings) { s.retry = r } }

// WithBreaker configures the circuit breakers.
func WithBreaker(b Breaker) Option { return func(s *settings) { s.breaker = b } }

// WithLedger sets the ledger for plain services. This ledger replaces the table or folder that the
// environment or WithLedgerFolder names. An agent without a ledger replies retry-later to requests of
// plain services.
func WithLedger(l port.Ledger) Option { return func(s *settings) { s.ledger = l } }

// OpenLedger opens a ledger in a folder. Serve calls closeIt before Serve returns.
type OpenLedger func(ctx context.Context, folder string) (l port.Ledger, closeIt func() error, err error)

// WithLedgerFolder makes Serve open a ledger in a folder, with the function open. If folder is empty,
// Serve uses the folder in STEPKEEPER_LEDGER_FOLDER. Programs usually call ledger.InFolder, which
// calls WithLedgerFolder.
func WithLedgerFolder(folder string, open OpenLedger) Option {
	return func(s *settings) {
		s.ledgerFolder = folder
		s.openFolder = open
	}
}

// WithQueues sets the queues, for tests. Serve then does not look for queues in the environment.
func WithQueues(q port.Queues) Option { return func(s *settings) { s.queues = q } }

// WithLog sets the logger. The default is slog.Default. On Lambda the default is a logger that writes JSON
// with the invocation's ID. Serve logs the IDs of messages, never their bodies.
func WithLog(l *slog.Logger) Option { return func(s *settings) { s.log = l } }

// WithClock sets the agent's clock, for tests. The default is the machine's clock.
func WithClock(c port.Clock) Option { return func(s *settings) { s.clock = c } }

// WithStats makes Serve call f with the final counts when Serve returns. On Lambda Serve does not return, so
// it never calls f.
func WithStats(f func(worker.Stats)) Option { return func(s *settings) { s.stats = f } }
