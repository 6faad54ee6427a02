package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Failure is an error with the details that the worker needs. Any other error is transient, and leaves the
// effect in doubt.
type Failure struct {
	// Permanent means that no repetition can succeed. The step fails for good.
	Permanent bool
	// NoEffect means that this call provably had no effect and will have none, because it was never sent, or
	// was refused. The ledger of plain services needs that proof (P31, a plain service needs a ledger).
	NoEffect bool
	// Happened means that the operation was done, but its output cannot be used. Then an undo has not failed,
	// because its output is not used.
	Happened bool
	// Requeue means that this call has begun something that a later handling finds. The request returns to
	// its queue for RetryAfter without a reply. If the request may not return any more, the failure is an
	// ordinary one.
	Requeue bool
	// RetryAfter is the wait that the service asked for; 0 means no wait.
	RetryAfter time.Duration
	// Code is a short stable word: "http-422", "card-declined". At most 64 bytes are kept.
	Code string
	Err  error
}

// Error returns the text of the wrapped error. It goes into the state store, so it must hold no secrets.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the wrapped error.
func (f *Failure) Unwrap() error { return f.Err }

// Permanent marks an error after which no repetition can succeed. Alone it proves nothing about the effect:
// add NoEffect if the service refused before it did anything.
func Permanent(err error) error { return with(err, func(f *Failure) { f.Permanent = true }) }

// Transient marks an error after which a repetition may succeed. Unclassified errors are transient.
func Transient(err error) error { return with(err, func(f *Failure) { f.Permanent = false }) }

// RetryAfter marks a transient error of a service that asks to wait that long before the next call.
func RetryAfter(err error, wait time.Duration) error {
	return with(err, func(f *Failure) { f.Permanent, f.RetryAfter = false, max(0, wait) })
}

// Unauthorized marks an error of a service that refused the agent's credentials before it did anything. It is
// transient and does not count as a failure: the step waits until the credentials are renewed (P45, "not now"
// is not a failure).
func Unauthorized(err error) error {
	return with(err, func(f *Failure) {
		f.Permanent, f.NoEffect, f.Code = false, true,
			core.CodeUnauthorized
	})
}

// NotYet returns the error of a service that did nothing, because the step's condition is not met yet. It
// does not count as a failure: the step polls for up to its pollFor, and waits at least the given time before
// each call (P45). Wrap it to state what is missing.
func NotYet(after time.Duration) error {
	return &Failure{NoEffect: true, Code: core.CodeNotYet, RetryAfter: max(0, after),
		Err: errors.New("the service says: not yet")}
}

// turnedAway reports whether the service was called and did nothing. The code names the reason (P45).
func (f *Failure) turnedAway() bool {
	return !f.Permanent && f.NoEffect && (f.Code == core.CodeUnauthorized || f.Code == core.CodeNotYet)
}

// NoEffect marks the error of a call that is proven to have had no effect: it was never sent, or refused.
func NoEffect(err error) error { return with(err, func(f *Failure) { f.NoEffect = true }) }

// WithCode adds a code to the error: a short stable word for programs.
func WithCode(err error, code string) error {
	return with(err, func(f *Failure) { f.Code = code })
}

func with(err error, change func(*Failure)) error {
	if err == nil {
		return nil
	}
	f := classify(err)
	f.Err = err
	change(&f)
	return &f
}

const maxCode = 64

// classify returns the Failure that describes an error.
func classify(err error) Failure {
	f := Failure{Code: "failed", Err: err}
	if known := (*Failure)(nil); errors.As(err, &known) {
		f = *known
		f.Err = err
	}
	switch {
	case f.Code != "" && f.Code != "failed":
	case errors.Is(err, context.DeadlineExceeded):
		f.Code = "timeout"
	default:
		f.Code = "failed"
	}
	f.Code = strings.Map(func(c rune) rune {
		if core.Unprintable(c) { // a reply with this character would be refused
			return ' '
		}
		return c
	}, strings.ToValidUTF8(core.RedactText(f.Code), "\ufffd"))
	if len(f.Code) > maxCode {
		f.Code = strings.ToValidUTF8(f.Code[:maxCode], "")
	}
	f.RetryAfter = max(0, f.RetryAfter)
	if err != nil && core.RedactText(err.Error()) != err.Error() {
		f.Err = redacted{err}
	}
	return f
}

// redacted is an error without tokens of answers in its text, because a service may repeat its input (P39, a
// token is an answer's permission).
type redacted struct{ error }

func (e redacted) Error() string { return core.RedactText(e.error.Error()) }

// Unwrap returns the error.
func (e redacted) Unwrap() error { return e.error }
