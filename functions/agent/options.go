package agent

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Retry is the agent's own, within one attempt of a step.
type Retry = worker.Retry

// Breaker is the circuit breaker, one for each operation.
type Breaker = worker.Breaker

// Option changes how Serve works. What the deployment decides on Lambda is left to it there, so that
// one program serves both: batch and concurrency, queues, and the folder of a ledger.
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

// WithConcurrency sets how many requests are handled at the same time; default 10. On Lambda an
// event's messages are all handled at the same time, and the mapping says how many events.
func WithConcurrency(n int) Option { return func(s *settings) { s.concurrency = n } }

// WithBatch sets how many requests are taken at once, 1 to 10; default 5. On Lambda
// the mapping says it.
func WithBatch(n int) Option { return func(s *settings) { s.batch = n } }

// WithDrain sets how long requests in hand may take once the context has ended; default 3 s. On
// Lambda every invocation comes to its end.
func WithDrain(d time.Duration) Option { return func(s *settings) { s.drain = d } }

// WithRetry sets the agent's own retries.
func WithRetry(r Retry) Option { return func(s *settings) { s.retry = r } }

// WithBreaker sets the circuit breaker.
func WithBreaker(b Breaker) Option { return func(s *settings) { s.breaker = b } }

// WithLedger gives a ledger for plain services, which comes before all others. Without any ledger
// their requests are answered retry-later.
func WithLedger(l port.Ledger) Option { return func(s *settings) { s.ledger = l } }

// LedgerFile is a ledger in a folder. Serve closes it when it returns.
type LedgerFile interface {
	port.Ledger
	io.Closer
}

// WithLedgerFolder has Serve open the ledger in that folder, or in the one that STEPKEEPER_LEDGER_FOLDER
// names if folder is empty. Package ledger calls it.
func WithLedgerFolder(folder string,
	open func(ctx context.Context, folder string) (LedgerFile, error)) Option {
	return func(s *settings) { s.ledgerFolder, s.openFolder = folder, open }
}

// WithQueues takes the queues from there and not from the environment: for tests, not on Lambda.
func WithQueues(q port.Queues) Option { return func(s *settings) { s.queues = q } }

// WithLog sets the logger; default slog.Default, on Lambda JSON with the invocation's ID. IDs are logged,
// never bodies.
func WithLog(l *slog.Logger) Option { return func(s *settings) { s.log = l } }

// WithClock sets the clock that stopBy is compared with; default the machine's: for tests, not on Lambda.
func WithClock(c port.Clock) Option { return func(s *settings) { s.clock = c } }

// WithStats calls f with the final counts when Serve ends, which it does not on Lambda.
func WithStats(f func(worker.Stats)) Option { return func(s *settings) { s.stats = f } }
