package core

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrOrderNeeded means that the decision evaluates an expression and needs the order. Load the order and
	// decide again.
	ErrOrderNeeded = errors.New("the decision needs the order")
	// ErrStale means that the event is ahead of the document: its attempt or run is above the stored one.
	// Either the document was read stale, or the message is forged. Do not delete the message (P8, every
	// commit is conditional).
	ErrStale = errors.New("the message is ahead of the document")
	// ErrUnfit means that the stored task and the given definition do not belong together, or that the
	// document is damaged. No event can be decided. The message stays in its queue, so that nothing is lost.
	ErrUnfit = errors.New("the stored task does not fit its definition")
)

// CodeUnknownTask is the code of a refusal because the order does not exist.
const CodeUnknownTask = "unknown-task"

// Refusal is the answer to the sender of a refused event.
type Refusal struct {
	Code  string // short and stable: "other-content", "unknown-task" …
	Field string // field of the submission; "" if no field is the cause
	Text  string // text that states what happened, to what, and what to do
}

func (r *Refusal) Error() string { return r.Text }

// Refuse returns a refusal with a code and a text.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Text: fmt.Sprintf(format, args...)}
}

// MaxMessage is the longest text of a failure that a document keeps, in bytes.
const MaxMessage = 512

// TrimMessage shortens a failure's text to MaxMessage bytes, between characters.
func TrimMessage(s string) string {
	if len(s) <= MaxMessage {
		return s
	}
	cut := MaxMessage - len("…")
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// CodeOvertaken is the code of a failed ask whose question was already answered.
const CodeOvertaken = "answered"

// CodeFailed replaces the code of a failure that has none.
const CodeFailed = "failed"

// Codes of a step that waits for an answer and fails.
const (
	CodeAnswerRefused = "answer-refused"
	CodeAnswerTimeout = "answer-timeout"
)

// Codes of a retry-later reply whose agent made no call that could have had an effect (P45, "not now" is not
// a failure).
const (
	CodeBreakerOpen  = "breaker-open" // its circuit breaker is open: the service is sick
	CodeUnauthorized = "unauthorized" // the service does not accept the agent's credentials
	// the service works but cannot do the operation yet, so the step polls it.
	CodeNotYet = "not-yet"
)

// Uncounted reports whether a retry-later with this code hands the step back without counting a failure.
func Uncounted(code string) bool { return Uncalled(code) || code == CodeNotYet }

// Uncalled reports whether the code means that the agent could not use its service.
func Uncalled(code string) bool { return code == CodeBreakerOpen || code == CodeUnauthorized }

// ShortCode returns the part of a code that is stored, in plain characters.
func ShortCode(code string) string { return PlainCode(code[:min(len(code), cutCode)]) }

// PlainCode replaces every character of a code that is not plain.
func PlainCode(code string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.ContainsRune("-_.:/", c) {
			return c
		}
		return '-'
	}, code)
}
