// Package message holds the messages between application, Scheduler, Agents, Supervisor and operator: their Go types, codecs, limits
// and JSON Schemas.
//
// Authority: a message states a fact or asks for something; it never carries an address to send to, and never changes a state by itself.
// Submissions are read strictly: an unknown field is an error that names it. Messages between actors tolerate unknown fields, so that
// old and new programs can run side by side.
//
// Failures: a message that is malformed or over its limit is refused with a [Refusal] or an error for quarantine; ErrNewer, a newer major
// schema, means that the message has to be returned to its queue, for a newer program.
package message

import "errors"

// Schema is the major version of all envelopes but of an answer, a resubmit with an input and a resolve with an output, which is AnswerSchema: a program
// that does not know them returns them to their queue.
const (
	Schema       = 1
	AnswerSchema = 2
)

var (
	// ErrNewer: the message is of a newer major schema; another instance may know it.
	ErrNewer = errors.New("message has a newer schema than this program knows; deploy the newer program, the message waits")
	// ErrUnreadable: the message will never be readable; quarantine it.
	ErrUnreadable = errors.New("unreadable message")
)
