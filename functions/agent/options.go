package agent

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Retry sets the agent's own retries within one attempt of a step.
type Retry = worker.Retry

// Breaker is the circuit breaker, one for each operation.
type Breaker = worker.Breaker

// Option changes a setting of Serve. On Lambda the deployment sets batch, concurrency, queues, and the folder
// of a ledger, so that one program runs on Lambda and as a process.
type Option func(*settings)

type settings struct {
	concurrency, batch int
	drain              time.Duration
	retry              Retry
	breaker            Breaker
	ledger             port.Ledger
	ledgerFolder       string
	openFolder         func(ctx context.Context, folder string) (LedgerFile, error) // nil if no option set it
	queues             port.Queues
	log                *slog.Logger
	clock              port.Clock
	stats              func(worker.Stats)
}

// WithConcurrency sets the number of requests that are handled concurrently; default 10. On Lambda all
// messages of an event are handled concurrently, and the mapping sets the number of events.
func WithConcurrency(n int) Option { return func(s *settings) { s.concurrency = n } }

// WithBatch sets the number of requests that are received at once, 1 to 10; default 5. On Lambda the mapping
// sets it.
func WithBatch(n int) Option { return func(s *settings) { s.batch = n } }

// WithDrain sets the time for running requests after the end of the context; default 3 s. On Lambda every
// invocation runs to its end.
func WithDrain(d time.Duration) Option { return func(s *settings) { s.drain = d } }

// WithRetry sets the agent's own retries.
func WithRetry(r Retry) Option { return func(s *settings) { s.retry = r } }

// WithBreaker sets the circuit breaker.
func WithBreaker(b Breaker) Option { return func(s *settings) { s.breaker = b } }

// WithLedger sets a ledger for plain services. It takes precedence over all others. Without any ledger the
// agent replies retry-later to requests of plain services.
func WithLedger(l port.Ledger) Option { return func(s *settings) { s.ledger = l } }

// LedgerFile is a ledger in a folder. Serve closes it when it returns.
type LedgerFile interface {
	port.Ledger
	io.Closer
}

// WithLedgerFolder makes Serve open the ledger in a folder. An empty text means the folder that
// STEPKEEPER_LEDGER_FOLDER names. Package ledger calls it.
func WithLedgerFolder(folder string,
	open func(ctx context.Context, folder string) (LedgerFile, error)) Option {
	return func(s *settings) { s.ledgerFolder, s.openFolder = folder, open }
}

// WithQueues sets the queues instead of the environment's. It is for tests, and not for Lambda.
func WithQueues(q port.Queues) Option { return func(s *settings) { s.queues = q } }

// WithLog sets the logger. The default is slog.Default, on Lambda JSON with the invocation's ID. Serve logs
// IDs, never bodies.
func WithLog(l *slog.Logger) Option { return func(s *settings) { s.log = l } }

// WithClock sets the clock that stopBy is compared with. The default is the machine's. It is for tests, and
// not for Lambda.
func WithClock(c port.Clock) Option { return func(s *settings) { s.clock = c } }

// WithStats calls f with the final counts when Serve ends. On Lambda Serve does not end, so f is never
// called.
func WithStats(f func(worker.Stats)) Option { return func(s *settings) { s.stats = f } }
