package worker

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// guard is the circuit breaker of one operation.
type guard struct {
	breaker circuitbreaker.CircuitBreaker[any] // nil if the breaker is off
	window  int                                // calls that the breaker looks at

	mu     sync.Mutex
	failed []string // keys of those calls, oldest first; "" for one that counts as no failure
	cause  Failure  // the last failure that the breaker has counted
}

// tried is the outcome of a try that failed.
type tried struct {
	Failure
	again   bool // another try may succeed, is safe, and fits into the time that is left
	service bool // the service is the cause: it counts for the breaker
}

func newGuard(b Breaker) *guard {
	g := &guard{}
	if !b.Off {
		g.breaker = circuitbreaker.NewBuilder[any]().
			//nolint:gosec // positive by complete
			WithFailureThresholdRatio(uint(b.Failures), uint(b.Window)).
			WithDelay(b.Delay).
			WithSuccessThreshold(uint(b.Probes)). //nolint:gosec // positive by complete
			Build()
		g.window = b.Window
	}
	return g
}

// call lets the breaker decide whether a call is made, circuitbreaker.ErrOpen if it is not, and reports to it
// what came of it.
func (g *guard) call(key string, once func() error) error {
	if g.breaker == nil {
		return once()
	}
	if !g.breaker.TryAcquirePermit() {
		return circuitbreaker.ErrOpen
	}
	// as long as nothing else is known: once may panic
	t := &tried{service: true, Failure: Failure{Code: "panic",
		Err: errors.New("handling the request panicked; the agent's log has the stack")}}
	defer func() { g.record(key, t) }()
	err := once()
	if !errors.As(err, &t) {
		t = &tried{}
	}
	return err
}

// record counts a call. While the breaker is closed a key counts as one failure among the calls that it
// looks at, however often it fails, so that one order cannot open the breaker for all others (P45).
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
		g.breaker.RecordFailure()
	}
	if !closed || !g.breaker.IsClosed() { // it begins to count anew
		g.failed = nil
		return
	}
	g.failed = append(g.failed[max(0, len(g.failed)+1-g.window):], key)
}

// openCause is the last failure that the breaker has counted.
func (g *guard) openCause() Failure {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// wait is the mean time before the try that follows the try of that number: the backoff, or what the service
// asked for, so much longer that jitter never makes it shorter.
func (r Retry) wait(try int, asked time.Duration) time.Duration {
	if asked > 0 {
		return time.Duration(float64(asked) / (1 - r.Jitter))
	}
	wait := r.Initial
	for i := 1; i < try && wait < r.Max; i++ {
		wait = min(2*wait, r.Max)
	}
	return wait
}

// guard finds the guard of an operation.
func (w *Worker) guard(name string) *guard {
	if g, ok := w.guards.Load(name); ok {
		return g.(*guard)
	}
	g, _ := w.guards.LoadOrStore(name, newGuard(w.Breaker))
	return g.(*guard)
}
