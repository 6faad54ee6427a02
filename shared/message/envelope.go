package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// SubmitOrder is a message from an application to the intake queue.
type SubmitOrder struct {
	Schema   int             `json:"schema"`
	OrderID  string          `json:"orderId"`
	Workflow string          `json:"workflow"`
	Order    json.RawMessage `json:"order"`              // any JSON value except null
	Priority string          `json:"priority,omitempty"` // "normal" (default) or "high"
	ReplyTo  string          `json:"replyTo,omitempty"`  // logical name of the queue or bus for statuses
	Deadline core.Time       `json:"deadline,omitzero"`
}

// Request is a message to an agent.
type Request struct {
	Schema int `json:"schema"`
	core.SendRequest
}

// Reply is a message from an agent to the replies queue (P3, a reply names request and sender).
type Reply struct {
	Schema     int             `json:"schema"`
	OrderID    string          `json:"task"`
	Run        int             `json:"run"`
	Step       string          `json:"step"`
	Agent      string          `json:"agent,omitempty"`
	Attempt    int             `json:"attempt"`
	Operation  core.Operation  `json:"operation"`
	Outcome    core.Outcome    `json:"outcome"`
	Output     json.RawMessage `json:"output,omitempty"`
	Error      *ReplyError     `json:"error,omitempty"`
	RetryAfter core.Duration   `json:"retryAfter,omitempty"` // milliseconds
	// NoEffect states that no call with the step's key has had an effect (P22a, a proven refusal permits
	// undo). It also states that no call of this attempt or of an earlier attempt will begin. Only a failed
	// or retry-later reply to a do may set NoEffect.
	NoEffect bool `json:"noEffect,omitempty"`
	// Until is the time by which the agent sends the next reply. Only a progress reply sets Until. The zero
	// value means that the next reply comes within the step's timeout.
	Until   core.Time `json:"until,omitzero"`
	Percent int       `json:"percent,omitempty"` // 0 to 100; set only in a progress reply
	// Note is a text for people in a progress reply. The task keeps at most core.MaxNote bytes of the text.
	Note string `json:"note,omitempty"`
	// Waited is the time from the request's claimedAt until the agent received the request (P32, queue time
	// is not a failure). Waited is never negative.
	Waited core.Duration `json:"waited"`
}

// Progress is the outcome of a reply about an operation that is still running (P43, long work reports
// progress).
const Progress core.Outcome = "progress"

// ReplyError states why an operation did not succeed. A retry-later reply does not count as a failure if
// core.Uncounted returns true for the code (P45, "not now" is not a failure).
type ReplyError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Status is a message to an application about its order.
type Status struct {
	Schema int `json:"schema"`
	core.Status
}

// Quarantined is a message in the quarantine queue. It contains a rejected message and the reason for the
// rejection.
type Quarantined struct {
	Schema int       `json:"schema"`
	Queue  string    `json:"queue"`
	ID     string    `json:"id"` // message ID that the queue assigned
	Reason string    `json:"reason"`
	At     core.Time `json:"at"`
	SHA256 string    `json:"sha256"` // hash of the complete body, in hexadecimal
	// Body contains at most the first MaxQuarantined bytes of the rejected message. Tokens for answers are
	// removed (P39, a token is an answer's permission).
	Body []byte `json:"body"`
}

// MaxQuarantined is the maximum length of Quarantined.Body in bytes.
const MaxQuarantined = 40_000

// Quarantine returns the quarantine message for a delivery that was rejected for the given reason.
func Quarantine(queue string, d port.Delivery, reason string, at core.Time) *Quarantined {
	body, _ := d.Bytes() // the body is empty if the value cannot be encoded
	sum := sha256.Sum256(body)
	body = core.RedactJSON(body)
	return &Quarantined{
		Schema: Schema, Queue: queue, ID: d.ID, Reason: core.TrimMessage(core.RedactText(reason)), At: at,
		SHA256: hex.EncodeToString(sum[:]), Body: body[:min(len(body), MaxQuarantined)],
	}
}
