package core

import (
	"cmp"
	"encoding/json"
	"slices"
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
	Kind    StatusKind `json:"status"`
	OrderID string     `json:"orderId"`
	// Seq is the number of the status. It is 0 for received, refused, command-refused, undoing and progress.
	Seq      int             `json:"seq,omitempty"`
	Run      int             `json:"run"`
	Workflow string          `json:"workflow,omitempty"`
	At       Time            `json:"at"`
	Step     string          `json:"step,omitempty"`
	Until    Time            `json:"until,omitzero"`    // time when the undo is requested; only for undoing
	Percent  int             `json:"percent,omitempty"` // percentage that is done; only for progress
	Note     string          `json:"note,omitempty"`    // free text; only for progress
	Output   json.RawMessage `json:"output,omitempty"`  // output of the step or of the workflow
	Code     string          `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	// Notes lists parts of the submission that have no effect; only for received.
	Notes []string `json:"notes,omitempty"`
	// Command is the name of the refused command, such as "cancel"; only for command-refused.
	Command   string `json:"command,omitempty"`
	CommandID string `json:"commandId,omitempty"` // ID of the refused command; only for command-refused
	// By is the name of the operator who closed the order; only for closed.
	By     string        `json:"by,omitempty"`
	Reason string        `json:"reason,omitempty"` // reason for the close; only for closed
	Steps  []StepSummary `json:"steps,omitempty"`  // summaries of all steps; only for a final status
}

// StepSummary is one step in a final status.
type StepSummary struct {
	Step     string `json:"step"`
	State    State  `json:"state"`
	Attempts int    `json:"attempts"`
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

// Status returns a status message of the task with the common fields filled in.
func (t *Task) Status(s Status) SendStatus {
	s.OrderID, s.Run, s.Workflow = t.OrderID, t.Run, t.Workflow
	return SendStatus{ReplyTo: t.ReplyTo, Status: s}
}

// StartedStatus returns the status "started" of the task's last start.
func (t *Task) StartedStatus() SendStatus {
	return t.Status(Status{Kind: StatusStarted, Seq: t.Start.Seq, At: t.StartedAt()})
}

// FinishedStatus returns the status "step finished" of a step.
func (t *Task) FinishedStatus(s *Step) SendStatus {
	return t.Status(Status{Kind: StatusStepFinished, Seq: s.Finish.Seq, At: s.Finish.At,
		Step:   s.Name,
		Output: s.Output})
}

// EndReceivers returns the reply-to names that get the final status.
func (t *Task) EndReceivers(def *Definition) (names []string) {
	if t.ReplyTo != "" {
		names = append(names, t.ReplyTo)
	}
	if def != nil && def.Events && t.ReplyTo != Events {
		names = append(names, Events)
	}
	return names
}

// FinalStatus returns the final status of the present end.
func (t *Task) FinalStatus() SendStatus {
	s := Status{Kind: EndKind(t), Seq: t.End.Seq, At: t.End.At, Step: t.Reason.Step,
		Output: t.Output,
		Code:   t.Reason.Code, Message: t.Reason.Text}
	if t.Closing != nil {
		s.By, s.Reason = t.Closing.By, t.Closing.Reason
	}
	for i := range t.Steps {
		step := &t.Steps[i]
		s.Steps = append(s.Steps,
			StepSummary{Step: step.Name, State: cmp.Or(step.EndState, step.State),
				Attempts: step.Attempt})
	}
	return t.Status(s)
}

// StatusesSince returns the numbered statuses for a receiver, from the number first on. The event bus gets
// only the status of the present end.
func (t *Task) StatusesSince(receiver string, first int) (all []SendStatus) {
	if receiver == "" {
		return nil
	}
	for n := max(first, 1); n <= t.StatusSeq; n++ {
		if receiver != t.ReplyTo && n != t.End.Seq {
			continue
		}
		s := t.numbered(n)
		s.ReplyTo = receiver
		all = append(all, s)
	}
	return all
}

// numbered returns the status with the number n.
func (t *Task) numbered(n int) SendStatus {
	switch n {
	case t.Start.Seq:
		return t.StartedStatus()
	case t.End.Seq:
		return t.FinalStatus()
	}
	for i := range t.Steps {
		if t.Steps[i].Finish.Seq == n {
			return t.FinishedStatus(&t.Steps[i])
		}
	}
	return t.Status(Status{Kind: StatusSuperseded, Seq: n, At: t.Created})
}

// Undelivered records the numbered statuses that a receiver could not get (P12b, a status delays nothing
// else). No status is sent to the receiver before ResendAt.
type Undelivered struct {
	ReplyTo string // logical name of the receiver
	First   int    // lowest number that the receiver may not have got
	Reason  string // short, stable text of at most MaxNote bytes
	Since   Time   // time of the first failed send
	// ResendAt is the next time to send the statuses again. It is zero after GiveUpAfter, when the statuses
	// are sent no more.
	ResendAt Time
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

// Postponed reports whether the statuses to a receiver wait for the resend time of an Undelivered.
func (t *Task) Postponed(receiver string) bool {
	return slices.ContainsFunc(t.Undelivered, func(u Undelivered) bool {
		return u.ReplyTo == receiver && u.ResendAt != 0
	})
}

// ResendTime returns the earliest time to send an unsettled end or an undelivered status again. It returns
// zero if everything was reported, or given up.
func (t *Task) ResendTime() Time {
	at := t.End.ResendAt
	for _, u := range t.Undelivered {
		at = earliest(at, u.ResendAt)
	}
	return at
}

// Delivered returns the task without the Undelivered whose statuses are all among the sent effects. It
// returns the same task if there are none.
func Delivered(t *Task, sent []Effect) *Task {
	var rest []Undelivered
	for _, u := range t.Undelivered {
		if u.ResendAt == 0 || !hasStatuses(sent, t.StatusesSince(u.ReplyTo, u.First)) {
			rest = append(rest, u)
		}
	}
	if len(rest) == len(t.Undelivered) {
		return t
	}
	c := t.Clone()
	c.Undelivered = rest
	Reindex(c, false)
	return c
}

func hasStatuses(sent []Effect, all []SendStatus) bool {
	return !slices.ContainsFunc(all, func(want SendStatus) bool {
		return !slices.ContainsFunc(sent, func(e Effect) bool {
			s, ok := e.(SendStatus)
			return ok && s.ReplyTo == want.ReplyTo && s.Status.Seq == want.Status.Seq
		})
	})
}
