// Package message defines the messages between application, Scheduler, Agents, Supervisor and operator: their
// Go types, codecs, limits and JSON Schemas.
//
// Authority: a message states a fact or makes a request. Only the receiver of the message changes a state. A
// message contains logical names of queues, never their addresses. DecodeSubmit is strict: it refuses a
// submission with an unknown field. Messages between actors may contain unknown fields, so that old and new
// programs can run together.
//
// Failures: the error for a submission that is malformed or too large is a [core.Refusal] that wraps
// ErrUnreadable. The error for any other malformed message wraps ErrUnreadable too, and the message belongs in
// quarantine. ErrNewer means that the message has a newer major schema. The caller returns the message to its
// queue, for a newer program.
package message

import "errors"

// Schema is the major schema version of all messages that this program reads and writes.
const Schema = 1

var (
	// ErrNewer means that the message has a newer major schema. A newer program can read the message.
	ErrNewer = errors.New(
		"message has a newer schema than this program knows; deploy the newer program, the message waits")
	// ErrUnreadable means that the message can never be read and belongs in quarantine.
	ErrUnreadable = errors.New("unreadable message")
)
