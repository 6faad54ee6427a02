package expression

import (
	"fmt"
	"unicode/utf8"
)

// Error is the reason why an expression was refused or failed. The text of an Error quotes the expression. It
// contains no data of the order.
type Error struct {
	Expression string
	What       string
	Fix        string // remedy; "" if What already states the remedy
}

const maxQuoted = 160

func (e *Error) Error() string {
	text := fmt.Sprintf("expression %q: %s", shorten(e.Expression, maxQuoted), e.What)
	if e.Fix != "" {
		text += "; fix: " + e.Fix
	}
	return text
}

// shorten returns at most n bytes of s, and an ellipsis if it cut s. It cuts no character in two.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// failure is an Error without the expression. The function named at adds the expression.
type failure struct{ what, fix string }

func (f *failure) Error() string { return f.what }

// fixValue is the remedy for an expression that fails only with some data.
const fixValue = "correct the data that it reads, or change the expression in the workflow"

func fail(what, fix string) error { return &failure{what, fix} }

// at adds the expression to a failure. It returns other errors unchanged.
func at(source string, err error) error {
	if f, ok := err.(*failure); ok {
		return &Error{Expression: source, What: f.what, Fix: f.fix}
	}
	return err
}
