// Package failure holds the exit codes of the command line, and the error that carries one: what
// happened, to what, and what to do.
package failure

import (
	"fmt"
	"slices"
)

// Code is the exit code of the program. Scripts rely on the codes, so they never change their meaning.
type Code int

// Exit codes.
const (
	OK           Code = 0 // done
	General      Code = 1 // failed for a reason that no other code names
	Usage        Code = 2 // wrong flags or arguments, or a file that cannot be read
	Refused      Code = 3 // the server refused the request and stated the reason
	NotFound     Code = 4 // no such order, file or step
	Unreachable  Code = 5 // the server did not answer
	NotProcessed Code = 6 // an order did not end Processed, or stopped in Error
)

// Word is the code's name in JSON.
func (c Code) Word() string {
	return [...]string{"ok", "failed", "usage", "refused", "not-found", "unreachable", "not-processed"}[c]
}

// Error is a failure for people. What states what happened to which object, and Do the next step.
type Error struct {
	Code Code
	What string
	Do   string // advice; "" if none helps
	Err  error  // cause; nil if there was no other error
	// Quiet reports that the command has already printed the failure.
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

// New makes an Error.
func New(code Code, do, format string, args ...any) *Error {
	return &Error{Code: code, Do: do, What: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error around another.
func Wrap(err error, code Code, do, format string, args ...any) *Error {
	return &Error{Code: code, Do: do, What: fmt.Sprintf(format, args...), Err: err}
}

// Silent returns a failure that the command has printed already.
func Silent(code Code, what string) *Error {
	return &Error{Code: code, What: what, Quiet: true}
}

// severity orders the codes, the worst first.
var severity = []Code{General, Unreachable, Usage, Refused, NotFound, NotProcessed, OK}

// Worst returns the exit code of a command whose orders ended in different ways: the first of
// 1, 5, 2, 3, 4, 6 that occurred.
func Worst(codes ...Code) Code {
	for _, c := range severity {
		if slices.Contains(codes, c) {
			return c
		}
	}
	return OK
}
