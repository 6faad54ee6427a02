package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Kinds of errors, for use with errors.Is.
var (
	ErrNotFound = errors.New("not found")       // the order or definition does not exist
	ErrInvalid  = errors.New("invalid request") // a repetition of the same request would fail too
	// ErrRefused means that a different order with the same ID exists, or that the order's state does not
	// permit the request.
	ErrRefused     = errors.New("refused")
	ErrForbidden   = errors.New("forbidden")             // the caller has no permission
	ErrBusy        = errors.New("busy")                  // too many requests; try again later
	ErrUnavailable = errors.New("unavailable")           // a shutdown or a full disk, for example; try again
	ErrConnection  = errors.New("connection failed")     // no response, or an incomplete response
	ErrAnswer      = errors.New("unreadable answer")     // the server is probably not a Stepkeeper server
	ErrInternal    = errors.New("failure at the server") // the server's log contains the details
)

// Error is an error response of a server, or an error of a Transport in the same form.
type Error struct {
	// Status is the HTTP status. For an order in a stream, it is the status that a separate request would
	// get.
	Status int
	Code   string // stable word, such as "unknown-workflow" or "busy"
	Title  string // kind of problem
	Detail string // description of the problem and its remedy
	Field  string // name of the order's wrong field, or ""
	// RetryAfter is the wait that the server requests before a repetition. It is 0 if the server requests no
	// wait.
	RetryAfter time.Duration
	RequestID  string // ID of the request in the server's log, for internal failures

	verdict *Verdict
}

// Errorf returns an Error with the given status. A Transport uses Errorf for errors that do not come from a
// server.
func Errorf(status int, code, format string, args ...any) *Error {
	return &Error{
		Status: status, Code: code, Title: http.StatusText(status),
		Detail: fmt.Sprintf(format, args...),
	}
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, e.Title)
	}
	return e.Detail
}

// Is reports whether target is the kind of the error, such as ErrNotFound. errors.Is calls this method.
func (e *Error) Is(target error) bool { return target == e.kind() }

// Undecided is the error of a command whose verdict did not arrive. The Scheduler may still execute the
// command. If the caller repeats the command with the same CommandID, the Scheduler executes the command only
// once.
type Undecided struct {
	OrderID string
	ID      string // ID of the command
	Queued  bool   // whether the command is certainly in its queue
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

// Unwrap returns Err.
func (u *Undecided) Unwrap() error { return u.Err }

// doubtful reports whether the Scheduler may have accepted a command that failed with this error.
func doubtful(err error) bool {
	return slices.ContainsFunc([]error{ErrConnection, ErrAnswer, context.Canceled, context.DeadlineExceeded},
		func(kind error) bool { return errors.Is(err, kind) })
}

// codeStoreDamaged is the error code of a server whose data is damaged. A repetition does not help before an
// operator has restored the data.
const codeStoreDamaged = "store-damaged"

// foreign reports whether something else than a Stepkeeper server responded, such as a login page: a server
// gives a code with each error. A proxy may report for a server that it is away or busy.
func (e *Error) foreign() bool {
	return e.Code == "" && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

func (e *Error) kind() error {
	switch {
	case e.foreign():
		return ErrAnswer
	case e.Code == "" && (e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout):
		return ErrConnection // a proxy got no response, or not in time
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

func repeatable(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return errors.Is(err, ErrConnection) || errors.Is(err, ErrBusy) || errors.Is(err, ErrUnavailable)
}

// askedPause returns the pause for the server's Retry-After, or -1 if there is no Retry-After. The pause is
// longer than Retry-After, so that the jitter cannot shorten the wait below Retry-After.
func askedPause(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return time.Duration(float64(e.RetryAfter) / (1 - pauseJitter))
	}
	return -1
}
