package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Errors for errors.Is.
var (
	ErrNotFound = errors.New("not found")       // no such order
	ErrInvalid  = errors.New("invalid request") // the request will never be accepted unchanged
	// Another order with that ID exists, or the order's state does not allow the command.
	ErrRefused     = errors.New("refused")
	ErrForbidden   = errors.New("forbidden")             // the caller lacks permission
	ErrBusy        = errors.New("busy")                  // too much work at once; retry later
	ErrUnavailable = errors.New("unavailable")           // server shutting down or disk full; retry later
	ErrConnection  = errors.New("connection failed")     // no answer, or an incomplete one
	ErrAnswer      = errors.New("unreadable answer")     // probably not a Stepkeeper server
	ErrInternal    = errors.New("failure at the server") // the server's log has the details
)

// Error is an error that the server returned.
type Error struct {
	// HTTP status; for a line of a stream, the status that its order would get in a request of its own
	Status int
	Code   string // short, stable word: "unknown-workflow", "busy" …
	Title  string // the kind of problem
	Detail string // description: what happened, to what, and what to do
	Field  string // name of the wrong field of the order; "" if no field is wrong
	// wait that the server asks for; 0 if waiting does not help or the server did not set it
	RetryAfter time.Duration
	RequestID  string // ID that finds an internal failure in the server's log

	verdict *Verdict // verdict of a refused command
}

// Errorf returns an Error with a status. A Transport uses it for errors that it finds without a server.
func Errorf(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Title: http.StatusText(status),
		Detail: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, e.Title)
	}
	return e.Detail
}

// Is reports whether target is the kind of the error, for errors.Is.
func (e *Error) Is(target error) bool { return target == e.kind() }

// Undecided is a command without a verdict. It was or may have been sent, and may still be executed. If it is
// sent again with the same ID (CommandID), it is executed once, and its verdict arrives.
type Undecided struct {
	OrderID string
	ID      string // ID of the command
	Queued  bool   // the command is certainly in the queue that leads to its verdict
	Err     error  // reason why the verdict did not arrive
}

func (u *Undecided) Error() string {
	how := "was perhaps sent"
	if u.Queued {
		how = "is queued"
	}
	return fmt.Sprintf("command %s of order %q %s, and no verdict of it is known: %v; ask again with the "+
		"same ID, it is carried out once", u.ID, u.OrderID, how, u.Err)
}

// Unwrap returns the reason.
func (u *Undecided) Unwrap() error { return u.Err }

// doubtful reports whether a command that got this error may nevertheless have been accepted.
func doubtful(err error) bool {
	return slices.ContainsFunc([]error{ErrConnection, ErrAnswer, context.Canceled, context.DeadlineExceeded},
		func(kind error) bool { return errors.Is(err, kind) })
}

// codeStoreDamaged is the code of a server whose data is damaged. A later attempt fails too, until a person
// has restored the data.
const codeStoreDamaged = "store-damaged"

func (e *Error) kind() error {
	switch {
	case e.Status == http.StatusNotFound:
		return ErrNotFound
	case e.Status == http.StatusConflict:
		return ErrRefused
	case e.Status == http.StatusForbidden:
		return ErrForbidden
	case e.Status == http.StatusTooManyRequests:
		return ErrBusy
	case e.Status == http.StatusServiceUnavailable && e.Code != codeStoreDamaged:
		return ErrUnavailable
	case e.Status >= 500:
		return ErrInternal
	}
	return ErrInvalid
}

// repeatable reports whether a later attempt of the same call is harmless and may succeed.
func repeatable(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return errors.Is(err, ErrConnection) || errors.Is(err, ErrBusy) || errors.Is(err, ErrUnavailable)
}

// askedPause returns the server's Retry-After, lengthened so that the jitter never makes it shorter. It
// returns -1 if the server set none.
func askedPause(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return time.Duration(float64(e.RetryAfter) / (1 - pauseJitter))
	}
	return -1
}
