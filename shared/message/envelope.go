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
	Order    json.RawMessage `json:"order"`              // any JSON; numbers keep their digits
	Priority string          `json:"priority,omitempty"` // "normal" (default) or "high"
	ReplyTo  string          `json:"replyTo,omitempty"`  // logical name of the application's queue
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
	// NoEffect is for failed or retry-later replies of a point of no return: the key has had no effect, and
	// no call for this or an older attempt begins any more (P22a, a proven refusal permits undo).
	NoEffect bool `json:"noEffect,omitempty"`
	// progress: latest time of the next report; the zero value means after the step's timeout
	Until   core.Time `json:"until,omitzero"`
	Percent int       `json:"percent,omitempty"` // progress: 0 to 100
	// progress: text for people; the task keeps at most core.MaxNote bytes
	Note string `json:"note,omitempty"`
	// milliseconds from claimedAt to receipt, never negative (P32, queue time is not a failure)
	Waited core.Duration `json:"waited"`
}

// Progress is the outcome of a Reply whose operation still runs (P43, long work reports progress).
const Progress core.Outcome = "progress"

// ReplyError states why a reply is not done. A retry-later reply whose code core.Uncounted accepts does not
// count as a failure (P45, "not now" is not a failure).
type ReplyError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Status is a message to the application about its order.
type Status struct {
	Schema int `json:"schema"`
	core.Status
}

// Quarantined is a message that could not be read, with the reason.
type Quarantined struct {
	Schema int       `json:"schema"`
	Queue  string    `json:"queue"`
	ID     string    `json:"id"` // ID given by the queue
	Reason string    `json:"reason"`
	At     core.Time `json:"at"`
	SHA256 string    `json:"sha256"` // hash of the received message
	// Body holds at most MaxQuarantined bytes of the message in base64, without tokens of answers (P39, a
	// token is an answer's permission).
	Body []byte `json:"body"`
}

// MaxQuarantined is the number of bytes of a body that the quarantine keeps.
const MaxQuarantined = 40_000

// Quarantine returns the message that keeps a rejected delivery for the operator, with the reason.
func Quarantine(queue string, d port.Delivery, reason string, at core.Time) *Quarantined {
	body, _ := d.Bytes() // a value that cannot be encoded leaves the body empty
	sum := sha256.Sum256(body)
	body = core.RedactJSON(body)
	return &Quarantined{
		Schema: Schema, Queue: queue, ID: d.ID, Reason: core.TrimMessage(core.RedactText(reason)), At: at,
		SHA256: hex.EncodeToString(sum[:]), Body: body[:min(len(body), MaxQuarantined)],
	}
}
