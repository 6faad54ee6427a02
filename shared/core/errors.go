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
	// Either the document was read stale, or the message is forged. Do not delete the message (P8).
	ErrStale = errors.New("the message is ahead of the document")
	// ErrUnfit means that the stored task and the given definition do not belong together, or that the
	// document is damaged. Nothing can be decided on it. The message stays, so that nothing is lost.
	ErrUnfit = errors.New("the stored task does not fit its definition")
)

// CodeUnknownTask is the code of a refusal where there is no such order.
const CodeUnknownTask = "unknown-task"

// Refusal is the answer to the sender of an event that must not be carried out.
type Refusal struct {
	Code  string // short and stable: "other-content", "unknown-task" …
	Field string // field of the submission; "" if the fault is in none of them
	Text  string // text that states what happened, to what, and what to do
}

func (r *Refusal) Error() string { return r.Text }

func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Text: fmt.Sprintf(format, args...)}
}

// MaxMessage is the longest text of a failure that a document keeps, in bytes.
const MaxMessage = 512

// TrimMessage shortens a failure's text to MaxMessage bytes, at a character's border.
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

// CodeOvertaken is the failure of an ask whose step was answered before it was done.
const CodeOvertaken = "answered"

// codeFailed stands for the code of a failure that came without one.
const CodeFailed = "failed"

// Codes of the failure of a step that is answered from outside.
const (
	CodeAnswerRefused = "answer-refused"
	CodeAnswerTimeout = "answer-timeout"
)

// Codes of a retry-later reply by an agent that made no call which could have had an effect (P45).
const (
	CodeBreakerOpen  = "breaker-open" // its circuit breaker is open: the service is sick
	CodeUnauthorized = "unauthorized" // the service does not accept the agent's credentials
	// the service works, and what is asked for cannot be done yet: the step polls it
	CodeNotYet = "not-yet"
)

// Uncounted reports one of these codes: a retry-later that has it is handed back uncounted.
func Uncounted(code string) bool { return Uncalled(code) || code == CodeNotYet }

// Uncalled reports those of them that speak of a service which the agent cannot use.
func Uncalled(code string) bool { return code == CodeBreakerOpen || code == CodeUnauthorized }

// shortCode returns the part of a code that is kept: characters that are written as they are.
func ShortCode(code string) string { return PlainCode(code[:min(len(code), cutCode)]) }

// plainCode replaces the characters of a code that are not written as they are.
func PlainCode(code string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.ContainsRune("-_.:/", c) {
			return c
		}
		return '-'
	}, code)
}
