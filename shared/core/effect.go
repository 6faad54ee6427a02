package core

import (
	"cmp"
	"encoding/json"
)

// Effect is an action to carry out after the commit of a decision. Only this package declares effects.
type Effect interface{ effect() }

// SendRequest is a request to an agent. The message to the agent contains these fields (P3, a reply names
// request and sender).
type SendRequest struct {
	Agent     string    `json:"agent"`
	OrderID   string    `json:"task"`
	Run       int       `json:"run"`
	Step      string    `json:"step"`
	Attempt   int       `json:"attempt"`
	Operation Operation `json:"operation"`
	Name      string    `json:"name"` // the agent's operation, such as "charge"
	Grade     Grade     `json:"grade"`
	// Key is the idempotency key (P2, attempts of a run share a key). An undo has the key of the do that it
	// reverses. A reminder of a question has its own key.
	Key     string   `json:"key"`
	Timeout Duration `json:"timeout"`
	// MaxDuration is the longest time of an attempt that reports progress at least every Timeout (P43, long
	// work reports progress).
	MaxDuration Duration        `json:"maxDuration,omitempty"`
	ClaimedAt   Time            `json:"claimedAt"`
	CompleteBy  Time            `json:"completeBy"`
	StopBy      Time            `json:"stopBy"`
	ClockSkew   Duration        `json:"clockSkew,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Resolved    *Resolved       `json:"resolved,omitempty"`
	// PointOfNoReturn makes the agent keep a ledger of the key, so that the agent can prove a refusal (P22a,
	// a proven refusal permits undo).
	PointOfNoReturn bool   `json:"pointOfNoReturn,omitempty"`
	Trace           string `json:"trace"` // W3C traceparent, derived from task, run, step and attempt
}

// SendWake wakes the Scheduler at a time, for a step or for the whole task (P9a, a waiting step has two
// times).
type SendWake struct {
	OrderID string
	Run     int
	Step    string // name of the step; "" means the whole task
	Attempt int
	WakeAt  Time // time of the Wake; zero means at once
	Early   bool // true for a Wake that ends the wait for an agent early, see Wake.Early
}

// SendSettle asks the Scheduler to send the final status (P11, an end is reported until settled).
type SendSettle struct{ OrderID string }

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

// RaiseAlert alerts the operator to a task. The task has stopped in Error, or was undone after a step failed.
type RaiseAlert struct {
	OrderID  string   `json:"orderId"`
	Workflow string   `json:"workflow"`
	Run      int      `json:"run"`
	Command  int      `json:"command"` // command number that Resubmit, Undo or Resolve must state
	Phase    Phase    `json:"phase"`
	Undone   bool     `json:"undone,omitempty"` // true if the order was undone, and needs no command
	Step     string   `json:"step,omitempty"`
	Attempts int      `json:"attempts,omitempty"`
	FirstTry Time     `json:"firstTry,omitzero"` // time of the step's first claim in this run
	LastTry  Time     `json:"lastTry,omitzero"`  // time of the step's last claim
	Key      string   `json:"key,omitempty"`     // idempotency key of the step (P2)
	Code     string   `json:"code,omitempty"`
	Message  string   `json:"message"`
	At       Time     `json:"at"`
	Accepts  Accepted `json:"accepts"`
}

// EraseContent removes an order's content from the state store (P52, erase removes content, not identity). It
// applies only to content that has an item or row of its own.
type EraseContent struct{ OrderID, Hash string }

// Accepted lists the commands that a task accepts right after it has stopped in Error or was undone.
type Accepted struct {
	Resubmit bool `json:"resubmit"`
	Undo     bool `json:"undo"`
	Resolve  bool `json:"resolve"` // Resolve of the step that caused the Error
	// Close is set only for a damaged order, which accepts no other command (P53, a damaged order is set aside).
	Close bool `json:"close,omitempty"`
}

func (SendRequest) effect()  {}
func (SendWake) effect()     {}
func (SendSettle) effect()   {}
func (SendStatus) effect()   {}
func (RaiseAlert) effect()   {}
func (AskChild) effect()     {}
func (ChildEnded) effect()   {}
func (EraseContent) effect() {}

// Settles reports whether the effects include all unsettled messages of the present end: the final status,
// the alert, and the report to the parent. An actor may settle an end only after it has itself sent all these
// messages (P11).
func Settles(def *Definition, t *Task, effects []Effect) bool {
	if t.End.ResendAt == 0 {
		return false
	}
	status, alert, parent := t.End.Seq == 0, !RaisesAlert(def, t), t.Parent == nil
	for _, e := range effects {
		switch e := e.(type) {
		case SendStatus:
			status = status || e.Status.Seq == t.End.Seq
		case RaiseAlert:
			alert = alert || e.At == t.End.At
		case ChildEnded:
			parent = parent || e.Parent == *t.Parent
		}
	}
	return status && alert && parent
}

// AlertOf returns the alert of a task. It ignores later changes of the task, so that a repeated alert has the
// same bytes (P12, effects are emitted again).
func AlertOf(def *Definition, task *Task) RaiseAlert {
	t := task.Clone()
	for i := range t.Steps {
		s := &t.Steps[i]
		s.State = cmp.Or(s.EndState, s.State)
		if s.Resolved != nil && s.Resolved.Command > t.End.Command {
			s.Resolved = nil
		}
		if s.NoEffect > t.End.At {
			s.NoEffect = 0
		}
	}
	a := RaiseAlert{OrderID: t.OrderID, Workflow: t.Workflow, Run: t.Run, Command: t.End.Command,
		Phase: t.Phase,
		Step:  t.Reason.Step, Code: t.Reason.Code, Message: t.Reason.Text, At: t.End.At}
	if a.Undone = t.ProcessState == Compensated; a.Undone {
		a.Accepts.Resubmit = t.Parent == nil // only the parent starts an undone child again
		return a
	}
	a.Accepts = Accepted{Resubmit: t.ExpiredKey(def, t.End.At) == "", Undo: t.UndoRefusal(def) == ""}
	if i := t.Index(t.Reason.Step); i >= 0 {
		a.Attempts, a.FirstTry, a.LastTry = t.Steps[i].Attempt, t.Steps[i].FirstClaim(), t.Steps[i].Claim.At
		a.Accepts.Resolve = t.ResolveRefusal(def, i, NotHappened, t.End.At) == ""
		if t.Steps[i].Attempted() {
			a.Key = Key(t.OrderID, t.Run, t.Reason.Step)
		}
	}
	return a
}

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

// Request returns the request of the present claim. It reads only values that do not change before the end of
// the claim (P12).
func (t *Task) Request(def *Definition, i int, input json.RawMessage) SendRequest {
	s, d := &t.Steps[i], &def.Steps[i]
	q := SendRequest{
		Agent: d.AskedAgent(s), OrderID: t.OrderID, Run: t.Run, Step: s.Name, Attempt: s.Attempt,
		Operation: Do, Name: d.Operation, Grade: d.Grade, Key: Key(t.OrderID, t.Run, s.Name),
		Timeout: d.TimeoutOf(s), ClaimedAt: s.Claim.At, CompleteBy: d.FirstCompleteBy(s),
		StopBy:    s.Claim.StopBy,
		ClockSkew: def.Agents[d.Agent].ClockSkew, Input: input, Resolved: s.Resolved,
		PointOfNoReturn: d.PointOfNoReturn,
		Trace:           AttemptTrace(t.OrderID, t.Run, s.Name, s.Attempt),
	}
	if s.Claim.Undo {
		q.Operation, q.Name = UndoOp, d.Undo.Operation
	} else {
		q.MaxDuration = d.MaxDuration
	}
	return q
}
