package worker

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Failure is an error with details for the worker. An error that is not a Failure is transient, and leaves
// the effect in doubt.
type Failure struct {
	// Permanent means that no repetition can succeed. The step fails for good.
	Permanent bool
	// NoEffect means that the call provably had no effect and will have none later. It was never sent, or was
	// refused. The ledger of plain services needs this proof (P31, a plain service needs a ledger).
	NoEffect bool
	// Happened means that the operation was done, but its output cannot be used. An undo with Happened has
	// succeeded, because the output of an undo is not used.
	Happened bool
	// Requeue means that the call has started work, and that a later handling finds the result. The request
	// returns to its queue for the time RetryAfter, without a reply. If the request has been received too
	// often or has too little time left, the worker replies with the failure.
	Requeue bool
	// RetryAfter is the wait that the service asked for; 0 means the usual backoff.
	RetryAfter time.Duration
	// Code is a short, stable word, such as "http-422" or "card-declined". The worker keeps at most 64 bytes.
	Code string
	Err  error // nil means that Code is the text
}

// Error returns the text of the wrapped error. The text goes into the state store, so it must not contain
// secrets.
func (f *Failure) Error() string {
	if f.Err == nil {
		return cmp.Or(f.Code, core.CodeFailed)
	}
	return f.Err.Error()
}

// Unwrap returns the wrapped error.
func (f *Failure) Unwrap() error { return f.Err }

// Rewritten returns the failure of a call with its code and its text rewritten, for example without secrets. Any
// other error stays as it is.
func Rewritten(err error, rewrite func(text string) string) error {
	f := (*Failure)(nil)
	if !errors.As(err, &f) || rewrite(f.Code+err.Error()) == f.Code+err.Error() {
		return err
	}
	clean := *f
	clean.Code = rewrite(f.Code)
	clean.Err = errors.New(rewrite(err.Error()))
	return &clean
}

// Permanent marks an error after which no repetition can succeed. The mark proves nothing about the effect.
// If the call provably had no effect, mark the error with NoEffect too.
func Permanent(err error) error { return with(err, func(f *Failure) { f.Permanent = true }) }

// Transient marks an error after which a repetition may succeed. Unclassified errors are transient.
func Transient(err error) error { return with(err, func(f *Failure) { f.Permanent = false }) }

// RetryAfter marks a transient error of a service that asks the caller to wait for the given time.
func RetryAfter(err error, wait time.Duration) error {
	return with(err, func(f *Failure) {
		f.Permanent = false
		f.RetryAfter = max(0, wait)
	})
}

// Unauthorized marks the error of a service that refused the agent's credentials and did nothing. The error
// is transient and does not count as a failure. The step waits until the credentials are renewed (P45, "not
// now" is not a failure).
func Unauthorized(err error) error {
	return with(err, func(f *Failure) {
		f.Permanent = false
		f.NoEffect = true
		f.Code = core.CodeUnauthorized
	})
}

// NotYet returns the error for a service that did nothing, because the step's condition is not met yet. The
// error does not count as a failure. The step repeats the call for at most its pollFor, and waits at least
// the given time before each call (P45). Wrap the error to state what is missing.
func NotYet(after time.Duration) error {
	return &Failure{
		NoEffect: true, Code: core.CodeNotYet, RetryAfter: max(0, after),
		Err: errors.New("the service says: not yet"),
	}
}

// turnedAway reports whether the service did nothing because it refused the credentials or is not ready.
func (f *Failure) turnedAway() bool {
	return !f.Permanent && f.NoEffect && (f.Code == core.CodeUnauthorized || f.Code == core.CodeNotYet)
}

// NoEffect marks the error of a call that provably had no effect: the call was not sent or was refused.
func NoEffect(err error) error { return with(err, func(f *Failure) { f.NoEffect = true }) }

// WithCode adds a code to the error. A code is a short, stable word for programs.
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
	f.Code = core.Printable(core.RedactText(f.Code)) // else the Scheduler would refuse the reply
	if len(f.Code) > maxCode {
		f.Code = strings.ToValidUTF8(f.Code[:maxCode], "")
	}
	f.RetryAfter = max(0, f.RetryAfter)
	if err != nil && core.RedactText(err.Error()) != err.Error() {
		f.Err = redacted{err}
	}
	return f
}

// redacted is an error whose text contains no tokens for answers. An input can contain a token, and a service
// may repeat the input in an error (P39, a token is an answer's permission).
type redacted struct{ error }

func (e redacted) Error() string { return core.RedactText(e.error.Error()) }

// Unwrap returns the error.
func (e redacted) Unwrap() error { return e.error }
