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
	Schema   int             `json:"schema" enum:"1"`
	OrderID  string          `json:"orderId" pattern:"^([A-Za-z0-9_:]|[.][A-Za-z0-9_:-]|[.][.][A-Za-z0-9._:-])[A-Za-z0-9._:-]*$" maxLength:"128" doc:"your own ID for the order, and not . or ..; with it, sending the same order again is harmless"`
	Workflow string          `json:"workflow" pattern:"^[a-z][a-z0-9-]{0,63}$" doc:"name of the workflow"`
	Order    json.RawMessage `json:"order" doc:"any JSON but null; numbers keep their digits"`
	Priority string          `json:"priority,omitempty" enum:"normal,high"`
	ReplyTo  string          `json:"replyTo,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$" doc:"logical name of the queue or bus that gets the status messages"`
	Deadline core.Time       `json:"deadline,omitzero" doc:"time by which the order must be done"`
}

// Request is a message to an agent.
type Request struct {
	Schema int `json:"schema" enum:"1"`
	core.SendRequest
}

// Reply is a message from an agent to the replies queue (P3, a reply names request and sender).
type Reply struct {
	Schema     int             `json:"schema" enum:"1"`
	OrderID    string          `json:"task" pattern:"^[A-Za-z0-9._:~-]{1,128}$" doc:"as in the request, like run, step, attempt and operation"`
	Run        int             `json:"run" minimum:"0"`
	Step       string          `json:"step" pattern:"^[a-z][a-z0-9-]{0,39}$"`
	Agent      string          `json:"agent,omitempty" doc:"the agent's own name; a reply of another agent than the one that was asked goes to quarantine"`
	Attempt    int             `json:"attempt" minimum:"0" doc:"number of the claim; 0 for a reminder, whose reply changes nothing"`
	Operation  core.Operation  `json:"operation" enum:"do,undo"`
	Outcome    core.Outcome    `json:"outcome" enum:"done,failed,retry-later,progress" doc:"failed if no repetition can help; retry-later if the agent's own retries are used up; progress, of a do with maxDuration, while the agent is at work"`
	Output     json.RawMessage `json:"output,omitempty" doc:"of done: any JSON, for later steps"`
	Error      *ReplyError     `json:"error,omitempty" doc:"of failed and retry-later; people see it, so it has no order data"`
	RetryAfter core.Duration   `json:"retryAfter,omitempty" minimum:"0" doc:"of retry-later: the service asked for at least this wait, in milliseconds"`
	NoEffect   bool            `json:"noEffect,omitempty" doc:"of a do that failed or is to be tried later: it is proven that no call with its key has had an effect, and no call of this or an earlier attempt will begin (P22a); leave it out in doubt"`
	Until      core.Time       `json:"until,omitzero" doc:"of progress: latest time of the next reply, not past stopBy; without it the step's timeout applies"`
	Percent    int             `json:"percent,omitempty" minimum:"0" maximum:"100" doc:"of progress: how far it is"`
	Note       string          `json:"note,omitempty" doc:"of progress: text for people without order data; the task keeps 200 bytes"`
	Waited     core.Duration   `json:"waited" required:"false" minimum:"0" doc:"time from claimedAt until the agent received the request, in milliseconds (P32)"`
}

// Progress is the outcome of a reply about an operation that is still running (P43, long work reports
// progress).
const Progress core.Outcome = "progress"

// ReplyError states why an operation did not succeed. A retry-later reply does not count as a failure if
// core.Uncounted returns true for the code (P45, "not now" is not a failure).
type ReplyError struct {
	Code    string `json:"code" required:"false" maxLength:"128" doc:"short, stable word without control characters; breaker-open, unauthorized and not-yet mean that no call was made that could have had an effect"`
	Message string `json:"message" required:"false"`
}

// Status is a message to an application about its order.
type Status struct {
	Schema int `json:"schema" enum:"1"`
	core.Status
}

// Quarantined is a message in the quarantine queue. It contains a rejected message and the reason for the
// rejection.
type Quarantined struct {
	Schema int       `json:"schema" enum:"1"`
	Queue  string    `json:"queue" doc:"queue from which the message came"`
	ID     string    `json:"id" doc:"message ID that the queue assigned"`
	Reason string    `json:"reason"`
	At     core.Time `json:"at"`
	SHA256 string    `json:"sha256" doc:"hash of the complete body, in hexadecimal"`
	Body   []byte    `json:"body" doc:"at most the first 40000 bytes of the message, without tokens for answers (P39)"`
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
