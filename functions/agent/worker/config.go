package worker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// MaxOutput is the largest output of an operation, in bytes. A reply must fit into one message.
const MaxOutput = core.MaxOutput

// Config configures a Worker.
type Config struct {
	Agent      string     // name of the agent, for logs and replies
	Operations Operations // required; at least one entry
	Replies    port.Sender
	// Linger is the time for which a reply of a Batch waits for the other replies, to be sent with them in one
	// call. 0 means that it does not wait.
	Linger     time.Duration
	Quarantine port.Queue
	// Ledger is needed for plain services and points of no return. Without a ledger, the agent replies
	// retry-later to requests of plain services. It also cannot prove that the refusal of a point of no
	// return had no effect (P22a, a proven refusal permits undo).
	Ledger  port.Ledger
	Clock   port.Clock
	Log     *slog.Logger // nil discards the log
	Tracer  port.Tracer  // nil records no spans
	Retry   Retry
	Breaker Breaker
	// SendTimeout is the time limit for sending one reply; default 5 s. If the handler's context has a deadline, all
	// writes to the ledger and the reply end SendTimeout after it. A negative value means no limit,
	// so even stopBy does not end a send. Use a negative value only for queues in memory, because there a
	// timer costs more than the send.
	SendTimeout time.Duration
}

// Retry configures the agent's retries within one attempt of a step. The retries stop at the end of the
// attempt's time limit.
type Retry struct {
	Tries   int           `yaml:"tries" json:"tries,omitzero"`     // calls in one attempt, 1 to 20; default 3
	Initial time.Duration `yaml:"initial" json:"initial,omitzero"` // first wait; default 200 ms
	Max     time.Duration `yaml:"max" json:"max,omitzero"`         // longest wait; default max(5 s, Initial)
	// fraction by which a wait may vary, 0 to 0.9; nil means 0.25
	Jitter *float64 `yaml:"jitter" json:"jitter,omitzero"`
}

// Breaker configures the circuit breakers, one for each operation.
type Breaker struct {
	Off bool `yaml:"off" json:"off,omitzero"`
	// number of transient failures among the last Window calls that opens the breaker; default 5
	Failures int `yaml:"failures" json:"failures,omitzero"`
	Window   int `yaml:"window" json:"window,omitzero"` // default 10, or Failures if larger
	// time that the breaker stays open; default 5 s
	Delay time.Duration `yaml:"delay" json:"delay,omitzero"`
	// number of calls that must succeed before the breaker closes; default 1
	Probes int `yaml:"probes" json:"probes,omitzero"`
}

func (r *Retry) complete() error {
	r.Tries = cmp.Or(r.Tries, 3)
	r.Initial = cmp.Or(r.Initial, 200*time.Millisecond)
	r.Max = cmp.Or(r.Max, max(5*time.Second, r.Initial))
	r.Jitter = cmp.Or(r.Jitter, new(0.25))
	switch {
	case r.Tries < 1 || r.Tries > 20:
		return fmt.Errorf("retry: %d tries; 1 to 20 are possible", r.Tries)
	case r.Initial < 0 || r.Max < r.Initial:
		return fmt.Errorf("retry: the first wait %s must be positive and at most the longest, %s", r.Initial,
			r.Max)
	case !(*r.Jitter >= 0 && *r.Jitter <= 0.9): // so written, it refuses NaN too
		return fmt.Errorf("retry: a jitter of %g; 0 to 0.9 are possible, and 0 means no jitter", *r.Jitter)
	}
	return nil
}

// Bounds of Breaker. A circuit breaker keeps each call of its window in memory.
const (
	mostCalls   = 10_000
	longestOpen = time.Hour
)

func (b *Breaker) complete() error {
	b.Failures = cmp.Or(b.Failures, 5)
	b.Window = cmp.Or(b.Window, max(10, b.Failures))
	b.Delay = cmp.Or(b.Delay, 5*time.Second)
	b.Probes = cmp.Or(b.Probes, 1)
	switch {
	case b.Failures < 1 || b.Window < b.Failures || b.Delay < 0 || b.Probes < 1:
		return fmt.Errorf(
			"breaker: %d failures of %d calls, %d probes, open for %s; all must be positive, and failures "+
				"at most the calls", b.Failures, b.Window, b.Probes, b.Delay)
	case b.Window > mostCalls || b.Probes > mostCalls:
		return fmt.Errorf("breaker: a window of %d calls and %d probes; 1 to %d are possible", b.Window,
			b.Probes, mostCalls)
	case b.Delay > longestOpen:
		return fmt.Errorf("breaker: open for %s; at most %s is possible", b.Delay, longestOpen)
	}
	return nil
}

// Validate returns the problems of a configuration's retry and breaker, or nil.
func Validate(r Retry, b Breaker) error { return errors.Join(r.complete(), b.complete()) }

func (c *Config) complete() error {
	c.SendTimeout = cmp.Or(c.SendTimeout, 5*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	problems := []error{c.Retry.complete(), c.Breaker.complete(), c.Operations.Validate()}
	for _, part := range [...]struct {
		what    string
		missing bool
	}{
		{"name", c.Agent == ""},
		{"queue of replies", c.Replies == nil},
		{"quarantine", c.Quarantine == nil},
		{"clock", c.Clock == nil},
	} {
		if part.missing {
			problems = append(problems, fmt.Errorf("it has no %s", part.what))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("agent %q: %w", c.Agent, err)
	}
	return nil
}
