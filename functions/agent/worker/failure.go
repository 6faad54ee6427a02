package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Failure is an error with what the worker must know of it. Errors that are none are transient,
// and leave the effect in doubt.
type Failure struct {
	// Permanent: no repetition can succeed; the step fails for good.
	Permanent bool
	// NoEffect: it is proven that this call has had no effect and will have none, because it was
	// never sent, or was refused. The ledger of plain services needs that proof (P31).
	NoEffect bool
	// Happened: the operation was done, and only its output cannot be used. The output of an undo is
	// not used: there it is no failure.
	Happened bool
	// RetryAfter is the wait that the service asked for; 0 means no wait.
	RetryAfter time.Duration
	// Code is a short stable word: "http-422", "card-declined". At most 64 bytes are kept.
	Code string
	Err  error
}

// Error is the text of the wrapped error: it goes into the state store, so it must hold no secrets.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the wrapped error.
func (f *Failure) Unwrap() error { return f.Err }

// Permanent marks an error after which no repetition can succeed. Alone it proves nothing about the effect:
// add NoEffect if the service refused before it did anything.
func Permanent(err error) error { return with(err, func(f *Failure) { f.Permanent = true }) }

// Transient marks an error after which a repetition may succeed. Unclassified errors are transient.
func Transient(err error) error { return with(err, func(f *Failure) { f.Permanent = false }) }

// RetryAfter is transient, and the service asks to wait that long before the next call.
func RetryAfter(err error, wait time.Duration) error {
	return with(err, func(f *Failure) { f.Permanent, f.RetryAfter = false, max(0, wait) })
}

// Unauthorized marks an error of a service that refused the agent's credentials before it did anything. It is
// transient and does not count as a failure: the step waits until the credentials are renewed (P45).
func Unauthorized(err error) error {
	return with(err, func(f *Failure) {
		f.Permanent, f.NoEffect, f.Code = false, true,
			core.CodeUnauthorized
	})
}

// NotYet returns the error of a service that was asked and did nothing, because the step's condition is not
// met yet. It does not count as a failure: the step polls for up to its pollFor, each time after the given
// wait at the earliest (P45). Wrap it to say what is missing.
func NotYet(after time.Duration) error {
	return &Failure{NoEffect: true, Code: core.CodeNotYet, RetryAfter: max(0, after),
		Err: errors.New("the service says: not yet")}
}

// turnedAway: the service was asked, and did nothing; its code says why (P45).
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
		if core.Unprintable(c) { // a reply with it would be refused
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

// redacted is an error whose text holds no tokens of answers: a service may repeat what it was sent (P39).
type redacted struct{ error }

func (e redacted) Error() string { return core.RedactText(e.error.Error()) }

// Unwrap returns the error.
func (e redacted) Unwrap() error { return e.error }
