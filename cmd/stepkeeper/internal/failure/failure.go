// Package failure defines the exit codes of the command line, and an error with an exit code. The error
// states what happened, to which object, and what the user can do.
package failure

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Code is an exit code of the program. Scripts rely on the codes, so a code never changes its meaning.
type Code int

// The exit codes.
const (
	OK           Code = 0 // the command succeeded
	General      Code = 1 // any failure without a code of its own
	Usage        Code = 2 // wrong flags or arguments, or a file that cannot be read
	Refused      Code = 3 // the server refused the request and stated the reason
	NotFound     Code = 4 // there is no such order, file or step
	Unreachable  Code = 5 // the server did not respond
	NotProcessed Code = 6 // an order did not end Processed, or stopped in Error
)

// Word returns the code's name in JSON.
func (c Code) Word() string {
	return [...]string{"ok", "failed", "usage", "refused", "not-found", "unreachable", "not-processed"}[c]
}

// Error is a failure with advice for the user. The field What states what happened, and to which object.
type Error struct {
	Code Code
	What string
	Do   string // next step for the user; "" if there is no advice
	Err  error  // cause; nil if there is none
	// Quiet is true if the command has already printed the failure.
	Quiet bool
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.What + ": " + e.Err.Error()
	}
	return e.What
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an Error without a cause.
func New(code Code, do, format string, args ...any) *Error {
	return &Error{Code: code, Do: do, What: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error with the cause err.
func Wrap(err error, code Code, do, format string, args ...any) *Error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		do = "raise the limit of open files, as with ulimit -n 4096"
	}
	return &Error{Code: code, Do: do, What: fmt.Sprintf(format, args...), Err: err}
}

// Silent returns an Error that the command has already printed.
func Silent(code Code, what string) *Error {
	return &Error{Code: code, What: what, Quiet: true}
}

// severity lists the codes from the worst to the best.
var severity = []Code{General, Unreachable, Usage, Refused, NotFound, NotProcessed, OK}

// Worst returns the exit code of a command with several results. It returns the first code of severity that
// is in codes, or OK.
func Worst(codes ...Code) Code {
	for _, c := range severity {
		if slices.Contains(codes, c) {
			return c
		}
	}
	return OK
}
