package worker

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// guard is the circuit breaker of one operation.
type guard struct {
	breaker circuitbreaker.CircuitBreaker[any] // nil if the breaker is off
	window  int                                // number of calls that the breaker considers
	delay   time.Duration                      // time that the breaker stays open
	clock   port.Clock

	mu     sync.Mutex
	opened time.Time
	failed []string // keys of the last calls, oldest first; "" for a call that is not a failure
	cause  Failure  // the last failure that the breaker has counted
}

// tried is the outcome of a try that failed.
type tried struct {
	Failure
	again   bool // another try may succeed, is safe, and fits into the remaining time
	service bool // the service is the cause, so the failure counts for the breaker
}

func newGuard(b Breaker, clock port.Clock) *guard {
	g := &guard{delay: b.Delay, clock: clock}
	if !b.Off {
		g.breaker = circuitbreaker.NewBuilder[any]().
			//nolint:gosec // positive by complete
			WithFailureThresholdRatio(uint(b.Failures), uint(b.Window)).
			// The guard ends the delay, because the library does not count the time of a frozen process (rule 34).
			WithDelay(math.MaxInt64).
			WithSuccessThreshold(uint(b.Probes)). //nolint:gosec // positive by complete
			Build()
		g.window = b.Window
	}
	return g
}

// call runs the given function, and records the outcome for the breaker. If the breaker does not
// permit the call, it returns circuitbreaker.ErrOpen instead.
func (g *guard) call(key string, once func() error) error {
	if g.breaker == nil {
		return once()
	}
	if !g.permits() {
		return circuitbreaker.ErrOpen
	}
	// This outcome is recorded if the function panics.
	t := &tried{service: true, Failure: Failure{
		Code: "panic",
		Err:  errors.New("handling the request panicked; the agent's log has the stack"),
	}}
	defer func() { g.record(key, t) }()
	err := once()
	if !errors.As(err, &t) {
		t = &tried{}
	}
	return err
}

func (g *guard) permits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker.IsOpen() && g.remaining() <= 0 {
		g.breaker.HalfOpen()
	}
	return g.breaker.TryAcquirePermit()
}

// remaining returns the time until an open breaker permits a probe. The caller holds g.mu.
func (g *guard) remaining() time.Duration {
	now := g.clock.Now()
	if !port.Recent(g.opened, now, g.delay) {
		return 0
	}
	return g.opened.Add(g.delay).Sub(now)
}

// record records the outcome of a call. While the breaker is closed, several failures of the same key count
// as one failure. So one order alone cannot open the breaker and stop all other orders (P45, "not now" is not
// a failure).
func (g *guard) record(key string, t *tried) {
	g.mu.Lock()
	defer g.mu.Unlock()
	closed := g.breaker.IsClosed()
	switch {
	case !t.service:
		key = ""
		g.breaker.RecordSuccess()
	case closed && slices.Contains(g.failed, key):
		return
	default:
		g.cause = t.Failure
		open := g.breaker.IsOpen()
		g.breaker.RecordFailure()
		if !open && g.breaker.IsOpen() {
			g.opened = g.clock.Now()
		}
	}
	if !closed || !g.breaker.IsClosed() { // the breaker uses failed only while it stays closed
		g.failed = nil
		return
	}
	g.failed = append(g.failed[max(0, len(g.failed)+1-g.window):], key)
}

func (g *guard) closed() bool { return g.breaker == nil || g.breaker.IsClosed() }

// openCause returns the last failure, and how long the breaker stays open. The time is not above 0 if the breaker is
// half-open, and other requests are its probes.
func (g *guard) openCause() (Failure, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.breaker.IsOpen() {
		return g.cause, 0
	}
	return g.cause, g.remaining()
}

// wait returns the mean wait before the next try: the wait that the service asked for, or else the
// backoff. wait lengthens the wait of the service, because jitter may shorten the result again.
func (r Retry) wait(try int, asked time.Duration) time.Duration {
	if asked > 0 {
		return time.Duration(float64(asked) / (1 - *r.Jitter))
	}
	wait := r.Initial
	for i := 1; i < try && wait < r.Max; i++ {
		wait = min(2*wait, r.Max)
	}
	return wait
}

func (w *Worker) guard(name string) *guard {
	if g, ok := w.guards.Load(name); ok {
		return g.(*guard)
	}
	g, _ := w.guards.LoadOrStore(name, newGuard(w.Breaker, w.Clock))
	return g.(*guard)
}
