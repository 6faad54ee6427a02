// Package message holds the envelopes that travel between application, Scheduler, Agents,
// Supervisor and operator, their codecs and their limits. Submissions are read strictly (an
// unknown field is an error that names it); internal envelopes tolerate unknown fields, so that
// old and new code can run side by side; a newer major schema is ErrNewer, to be given back.
package message

import "errors"

// Schema is the major version of all envelopes.
const Schema = 1

var (
	// ErrNewer: the message is of a newer major schema; another instance may know it.
	ErrNewer = errors.New("message has a newer schema than this program knows; deploy the newer program, the message waits")
	// ErrUnreadable: the message will never be readable; quarantine it.
	ErrUnreadable = errors.New("unreadable message")
)
