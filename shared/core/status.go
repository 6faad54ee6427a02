package core

import (
	"encoding/json"
)

// StatusKind names a kind of status message to the application.
type StatusKind string

// Kinds of status messages.
const (
	StatusReceived     StatusKind = "received"
	StatusRefused      StatusKind = "refused"
	StatusStarted      StatusKind = "started"
	StatusStepFinished StatusKind = "step-finished"
	// StatusUndoing reports that the undo of a step waits, because a call of the step may still take effect
	// (P21, an undo waits for quiet). This status is sent once. It is lost if the send fails.
	StatusUndoing StatusKind = "undoing"
	// StatusProgress reports the progress of a running attempt (P43). This status is lost if the send fails.
	StatusProgress  StatusKind = "progress"
	StatusCompleted StatusKind = "completed"
	StatusFailed    StatusKind = "failed" // the task is in Error and needs an operator
	StatusUndone    StatusKind = "undone"
	StatusCancelled StatusKind = "cancelled"
	// StatusClosed reports that an operator closed the order (P48, close ends an order as it stands).
	StatusClosed StatusKind = "closed"
	// StatusCommandRefused reports that a command from the control queue was refused. The order continues
	// unchanged.
	StatusCommandRefused StatusKind = "command-refused"
	// StatusSuperseded has the number of an earlier status that can no longer be computed, because the order
	// was taken up or started again. It says nothing else, so that receivers see no gap in the numbers.
	StatusSuperseded StatusKind = "superseded"
)

// Status is a message to the application's own queue. A final status summarises the whole order, so that the
// loss of earlier statuses does no harm (P11).
type Status struct {
	Kind      StatusKind      `json:"status" enum:"received,started,step-finished,reminder,undoing,progress,completed,failed,undone,cancelled,closed,refused,command-refused,superseded" doc:"completed, failed, undone, cancelled and closed are complete summaries of an end"`
	OrderID   string          `json:"orderId"`
	Seq       int             `json:"seq,omitempty" doc:"grows by one with each numbered status of an order, without gaps; a number may come twice: keep the first; received, refused, command-refused, undoing and progress have none"`
	Run       int             `json:"run" minimum:"0" doc:"how often the order was started from the beginning: 0, and one more each time it is resubmitted after its undo"`
	Workflow  string          `json:"workflow,omitempty"`
	At        Time            `json:"at" doc:"time when it happened"`
	Step      string          `json:"step,omitempty"`
	Until     Time            `json:"until,omitzero" doc:"undoing: time when the undo is requested"`
	Percent   int             `json:"percent,omitempty" doc:"progress: percentage that is done"`
	Note      string          `json:"note,omitempty" doc:"progress: text of the agent"`
	Output    json.RawMessage `json:"output,omitempty" doc:"output of the step or of the workflow"`
	Code      string          `json:"code,omitempty" doc:"short, stable word for what went wrong"`
	Message   string          `json:"message,omitempty" doc:"the same for people"`
	Notes     []string        `json:"notes,omitempty" nullable:"false" doc:"received: parts of the submission that have no effect"`
	Command   string          `json:"command,omitempty" doc:"command-refused: name of the command"`
	CommandID string          `json:"commandId,omitempty" doc:"command-refused: ID of the command"`
	By        string          `json:"by,omitempty" doc:"closed: name of the operator"`
	Reason    string          `json:"reason,omitempty" doc:"closed: why"`
	Steps     []StepSummary   `json:"steps,omitempty" nullable:"false" doc:"at an end: all steps"`
}

// StepSummary is one step in a final status.
type StepSummary struct {
	Step     string `json:"step"`
	State    State  `json:"state"`
	Attempts int    `json:"attempts" doc:"number of claims, of dos and undos"`
}

// SendStatus is a status message to the application.
type SendStatus struct {
	ReplyTo string
	Status  Status
}

// Events is the reply-to name of the event bus. The bus gets the final statuses of all orders whose workflow
// sets Events.
const Events = "events"

func (SendStatus) effect() {}

// Undelivered records the numbered statuses that a receiver could not get (P12b, a status delays nothing
// else). No status is sent to the receiver before ResendAt.
type Undelivered struct {
	ReplyTo string `json:"replyTo"` // logical name of the receiver
	First   int    `json:"first"`   // lowest number that the receiver may not have got
	Reason  string `json:"reason"`  // short, stable text of at most MaxNote bytes
	Since   Time   `json:"since"`   // time of the first failed send
	// ResendAt is the next time to send the statuses again. It is zero after GiveUpAfter, when the statuses
	// are sent no more.
	ResendAt Time `json:"resendAt,omitzero"`
}

// Bounds of the wait before an unsettled end or an undelivered status is sent again.
const (
	maxResendWait = Hour
	// GiveUpAfter is how long an undelivered status is sent again. It is the longest retention of SQS.
	GiveUpAfter = 14 * Day
)

// ResendWait returns the wait until the next time to send a report again. The wait grows with the time since
// the first send. It is at least the definition's ResendAfter.
func ResendWait(since, now Time, resendAfter Duration) Duration {
	return max(resendAfter, min(now.Sub(since), maxResendWait))
}
