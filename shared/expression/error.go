package expression

import (
	"fmt"
	"unicode/utf8"
)

// Error is the reason why an expression was refused or failed. The text of an Error quotes the expression,
// which the author of the workflow has written. The text contains no data of the order.
type Error struct {
	Expression string
	What       string
	Fix        string // remedy; "" if What already states the remedy
}

// maxQuoted limits the part of an expression that an error shows, in bytes.
const maxQuoted = 160

func (e *Error) Error() string {
	text := fmt.Sprintf("expression %q: %s", shorten(e.Expression, maxQuoted), e.What)
	if e.Fix != "" {
		text += "; fix: " + e.Fix
	}
	return text
}

// shorten cuts s to at most n bytes, without cutting a character.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// failure is an Error without the expression. The function at adds the expression.
type failure struct{ what, fix string }

func (f *failure) Error() string { return f.what }

// fixValue is the remedy for an expression that is right for other data.
const fixValue = "correct the data that it reads, or change the expression in the workflow"

func fail(what, fix string) error { return &failure{what, fix} }

// at adds the expression to a failure. It returns other errors unchanged.
func at(source string, err error) error {
	if f, ok := err.(*failure); ok {
		return &Error{Expression: source, What: f.what, Fix: f.fix}
	}
	return err
}
