// Package message holds the messages between application, Scheduler, Agents, Supervisor and operator: their
// Go types, codecs, limits and JSON Schemas.
//
// Authority: a message states a fact or makes a request. It never contains the address of a receiver, and
// never changes a state by itself. Submissions are read strictly: an unknown field causes an error that names
// the field. Messages between actors tolerate unknown fields, so that old and new programs can run together.
//
// Failures: a message that is malformed or over its limit is refused with a [Refusal] or an error for
// quarantine. ErrNewer means a newer major schema. Such a message has to be returned to its queue, for a
// newer program.
package message

import "errors"

// Schema is the major version of every envelope. A program returns a message of a newer one to its queue.
const Schema = 1

var (
	// ErrNewer means that the message has a newer major schema. Another instance may be able to read it.
	ErrNewer = errors.New(
		"message has a newer schema than this program knows; deploy the newer program, the message waits")
	// ErrUnreadable means that the message can never be read and belongs in quarantine.
	ErrUnreadable = errors.New("unreadable message")
)
