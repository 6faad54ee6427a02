package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrOrderNeeded means that the decision evaluates an expression and needs the order. The caller loads
	// the order and decides again.
	ErrOrderNeeded = errors.New("the decision needs the order")
	// ErrStale means that the event has a higher attempt or run than the stored task. Either the loaded
	// document is not the newest version, or the message is forged. The caller must not delete the message
	// (P8, every commit is conditional).
	ErrStale = errors.New("the message is ahead of the document")
	// ErrUnfit means that the stored task cannot be read, or does not fit its definition. Only the events of
	// P60 (a damaged order is set aside) can be decided. The other messages stay in their queue, so that
	// nothing is lost.
	ErrUnfit = errors.New("the stored task is damaged")
)

// CodeDamaged is the code of an alert about a damaged order, and of a refused command to such an order.
const CodeDamaged = "damaged"

// CodeUnknownTask is the refusal code if the order does not exist.
const CodeUnknownTask = "unknown-task"

// Refusal is the response to the sender of a refused message.
type Refusal struct {
	Code  string // short, stable word: "other-content", "unknown-task" …
	Field string // field of the submission; "" if no field is the cause
	Text  string // text for people: the problem, its object and the next step
	Cause error  // kind of the fault, if the message itself is at fault
}

func (r *Refusal) Error() string { return r.Text }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Refuse returns a refusal with a code and a text.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Text: fmt.Sprintf(format, args...)}
}

// MaxMessage is the longest text of a failure that a document keeps, in bytes.
const MaxMessage = 512

// TrimMessage shortens a failure's text to at most MaxMessage bytes. It does not split a character. It replaces
// bytes that are not UTF-8, because the text is for people and every store must be able to read it.
func TrimMessage(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= MaxMessage {
		return s
	}
	cut := MaxMessage - len("…")
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// CodeOvertaken is the failure code of a step that nobody wants any more, because the step that it serves has
// ended (P53, a step can be withdrawn).
const CodeOvertaken = "overtaken"

// CodeNoneLeft is the failure code of an Any of which fewer members than it needs can still end well (P54).
const CodeNoneLeft = "none-left"

// CodeLate is the failure code of a step whose deadline has passed (P58, a step has a deadline).
const CodeLate = "late"

// CodeFailed is stored if a failure has no code.
const CodeFailed = "failed"

// Failure codes of a step that waits for an answer.
const (
	CodeAnswerRefused = "answer-refused"
	CodeAnswerTimeout = "answer-timeout"
)

// Codes of a retry-later reply that hands the step back without a counted failure (P45, "not now" is not a
// failure).
const (
	CodeBreakerOpen  = "breaker-open" // the agent's circuit breaker is open
	CodeUnauthorized = "unauthorized" // the service does not accept the agent's credentials
	// CodeNotYet means that the service cannot do the operation yet. The step asks again later.
	CodeNotYet = "not-yet"
)

// CodeNoAgent is the code of a step whose request could not be sent, because the deployment has no queue for
// the agent. The Scheduler itself hands the step back (P45).
const CodeNoAgent = "no-agent"

// CodeNoConsumer is the code of an outage in which no process receives an agent's requests (P32, queue time is not
// a failure).
const CodeNoConsumer = "no-consumer"

// Uncounted reports whether a retry-later with this code does not count as a failure. The code CodeQueue means
// that the agent received the request too late (P32, queue time is not a failure).
func Uncounted(code string) bool {
	return Uncalled(code) || code == CodeNotYet || code == CodeQueue
}

// Uncalled reports whether the code means that no agent could call the service.
func Uncalled(code string) bool {
	return code == CodeBreakerOpen || code == CodeUnauthorized || code == CodeNoAgent
}

// OwnCode reports whether Stepkeeper gives the code itself. A service that says one of these does not name its own
// failure by it.
func OwnCode(code string) bool { return slices.Contains(ownCodes, code) }

var ownCodes = []string{
	CodeAnswerRefused, CodeAnswerTimeout, CodeBreakerOpen, CodeDamaged, CodeFailed, CodeLate, CodeNoAgent,
	CodeNoConsumer, CodeNotYet, CodeNoneLeft, CodeNoTokens, CodeOutput, CodeOutputTooLarge, CodeOvertaken, CodeQueue,
	CodeTimeout, CodeUnauthorized,
	CodeUnknownTask, "children-failed", "deadline", "expression", "hops", "in-doubt", "panic", "refused", "unspecified",
}

// MaxShortCode is the longest code, in bytes, that is kept where texts are cut.
const MaxShortCode = 32

// ShortCode returns the first MaxShortCode bytes of a code, in plain characters.
func ShortCode(code string) string { return PlainCode(code[:min(len(code), MaxShortCode)]) }

// PlainCode keeps ASCII letters, digits and the characters -_.:/ of a code. It replaces each other character
// by "-".
func PlainCode(code string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.ContainsRune("-_.:/", c) {
			return c
		}
		return '-'
	}, code)
}
