package core

import (
	"encoding/json"
)

// Event is something that happens to a task. Only this package declares events.
type Event interface{ event() }

// Operation is the operation of a request or a reply.
type Operation string

// Operations of a step.
const (
	Do     Operation = "do"
	UndoOp Operation = "undo"
)

// Outcome is the result of an attempt.
type Outcome string

// Outcomes that a reply reports.
const (
	OutcomeDone       Outcome = "done"
	OutcomeFailed     Outcome = "failed"      // permanent failure
	OutcomeRetryLater Outcome = "retry-later" // transient failure, after the agent's own retries
)

// Submitted is the submission of an order. Decide gets no task if the order is new.
type Submitted struct {
	OrderID     string
	Workflow    string
	ContentHash string
	KnownHash   string // submission hash of the stored task; "" if the order is new
	Priority    string
	ReplyTo     string
	Deadline    Time // deadline of the order; zero means that the definition's deadline applies
}

// Reply is an agent's reply to a request (P15, a late "done" counts).
type Reply struct {
	Step       string
	Run        int
	Attempt    int
	Operation  Operation
	Outcome    Outcome
	Output     json.RawMessage // output of a done reply
	Code       string          // code of a failed or retry-later reply, see StepError
	Message    string
	RetryAfter Duration // shortest wait before the next attempt, for retry-later; 0 means none
	// NoEffect means that no call with this key has had an effect or will have one. An agent sets it only in
	// a failed or retry-later reply of a point of no return (P22a, a proven refusal permits undo).
	NoEffect bool
}

// Progress reports that the present attempt of a do is still running (P43, long work reports progress).
type Progress struct {
	Step      string
	Run       int
	Attempt   int
	Operation Operation
	Until     Time // latest time of the next report; zero means one timeout of the step from now
	Percent   int  // 0 to 100
	Note      string
}

// Overdue reports that a step's complete-by time has passed. Only the Supervisor creates this event (P16, the
// Supervisor hands back and gives up).
type Overdue struct {
	Step    string
	Attempt int
	Queue   QueueState
}

// QueueState says whether a queue explains that a step is overdue (P32, queue time is not a failure).
type QueueState int

// States of a queue with regard to an overdue step.
const (
	QueueClear  QueueState = iota // no: the agent has most likely received the request
	QueueHeld                     // the queue of the agent, or that of the replies, holds a backlog
	QueuePassed                   // its request has left the queue: a restart has lost it, or its reply may wait
)

// DeadlinePassed reports that the task's deadline has passed. Only the Supervisor creates this event (P23a, a
// deadline stops or undoes the order).
type DeadlinePassed struct{ Run int }

// StepLate reports that the deadline of a step has passed (P58, a step has a deadline). Only the Supervisor creates
// this event.
type StepLate struct {
	Step string
	Run  int
	Seq  int // how often the step's deadline was set in the run
}

// ResendDue reports that the task's ResendTime has passed: an end is still unsettled (P11, an end is reported
// until settled), or a status is undelivered (P12b, a status delays nothing else). Only the Supervisor creates
// this event.
type ResendDue struct{}

// Wake asks the Scheduler to continue a step.
type Wake struct {
	Step    string `json:"step,omitempty" required:"true" pattern:"^[a-z][a-z0-9-]{0,39}$"`
	Run     int    `json:"run,omitempty" minimum:"0"`
	Attempt int    `json:"attempt,omitempty" required:"true" minimum:"1"`
	Early   bool   `json:"early,omitempty" doc:"the step's agent can call its service again: ends the wait of a step that was handed back because it could not (P45)"`
}

// Settle asks the Scheduler to send all messages about the task's unsettled end, such as the final status
// (P11), and the undelivered statuses (P12b).
type Settle struct{}

// Unsent reports that a receiver could not get numbered statuses. Only the Scheduler that tried to send them
// creates this event (P12b).
type Unsent struct {
	ReplyTo string
	First   int    // lowest number that was not sent
	Reason  string // short, stable text
}

// Answered is an answer from a person or an application (P35, an answer decides a round). The answer is for
// Step. If Step is empty, the answer is for every step that waits for the event Name.
type Answered struct {
	ID    string          `json:"id,omitempty" required:"true" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the answer; an answer sent again with the same ID gets the same verdict"`
	Run   int             `json:"run,omitempty" minimum:"0"`
	Step  string          `json:"step,omitempty" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"step that is answered; an answer names a step with its round, or an event"`
	Name  string          `json:"event,omitempty" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"name of an event, for every step of the order that waits for it or will"`
	Round int             `json:"round,omitempty" minimum:"0" doc:"how often the step was asked in this run, from 1; another round refuses the answer"`
	Value json.RawMessage `json:"value,omitempty" required:"true" doc:"one of the values of an approval, or the value of an event"`
	By    string          `json:"by,omitempty" maxLength:"128" doc:"name of the person, without control characters and < > & and quotation marks"`
	Note  string          `json:"reason,omitempty" maxLength:"512" doc:"reason in the words of the person"`
	// The task does not store the refusal of an answer with a token (P39, a token is an answer's permission).
	Token string `json:"token,omitempty" doc:"token of the order that determines run, step and by"`
}

// ChildAsk is a step's request to a child task.
type ChildAsk string

// Requests to a child task.
const (
	AskStart ChildAsk = "start"
	// AskCancel asks to stop and undo the child. It does not change a child that is Processed, or past its
	// point of no return.
	AskCancel ChildAsk = "cancel"
	AskUndo   ChildAsk = "undo"
)

// AskChild is a step's request to a child task (P41, parent and child talk by messages). It is an effect of
// the parent's decision, and an event of the child. Each request contains all data of the child, because
// earlier requests may arrive later or never.
type AskChild struct {
	OrderID    string          `json:"-"` // ID of the child, the task of its message
	Parent     Parent          `json:"parent"`
	Ask        ChildAsk        `json:"ask"`
	Workflow   string          `json:"workflow"`
	Definition string          `json:"definition"` // hash of the child's definition
	Priority   string          `json:"priority,omitempty"`
	Order      json.RawMessage `json:"order"`
	// Answers holds what the parent passes on with a start (P56, answers pass through). Every start has all answers
	// that no child has taken.
	Answers     []Passed `json:"answers,omitempty"`
	ContentHash string   `json:"-"` // hash of the order, set by the actor that stores it
	// To is the definition with the hash in Definition. The actor sets To if a Compensated child is asked to
	// start again with another definition.
	To *Definition `json:"-"`
}

// Passed is an answer to an event that an order passes on to its child (P56, answers pass through).
type Passed struct {
	ID    string          `json:"id"`
	Name  string          `json:"event"`
	Value json.RawMessage `json:"value"`
	By    string          `json:"by"`
	Note  string          `json:"reason,omitempty"`
	// Above means that the order has it from its own parent. A message does not say so.
	Above bool `json:"above,omitempty"`
}

// ChildState is the state in which a child task ended or stopped.
type ChildState string

// States of a child task that are reported to its parent.
const (
	ChildProcessed   ChildState = "processed"
	ChildCompensated ChildState = "compensated"
	ChildError       ChildState = "error"  // the child waits for an operator, and will end later
	ChildClosed      ChildState = "closed" // an operator closed the child (P48); it can no longer be undone
	// ChildExpired means that the child has ended and is no longer stored (P26, an ID never runs twice).
	ChildExpired ChildState = "expired"
	// ChildRefused means that the child was never created: its order does not match the schema of its workflow, or does
	// not fit into the store (P28, what is too large fails once).
	ChildRefused ChildState = "refused"
)

// ChildEnded reports to a parent how a child task has ended (P41). It is an effect of the child's decision,
// and an event of the parent. Parent.Attempt is the latest attempt that sent a request to the child.
type ChildEnded struct {
	Parent  Parent          `json:"parent"`
	State   ChildState      `json:"state"`
	Output  json.RawMessage `json:"output,omitempty"` // output of the child's workflow
	Code    string          `json:"code,omitempty"`   // reason why the child did not succeed
	Message string          `json:"message,omitempty"`
	// Took holds hashes of the IDs of the answers that the child has used or refused (P56). Its parent keeps the others
	// for the next child.
	Took []string `json:"took,omitempty"`
}

func (Submitted) event()      {}
func (Reply) event()          {}
func (Progress) event()       {}
func (Overdue) event()        {}
func (DeadlinePassed) event() {}
func (StepLate) event()       {}
func (ResendDue) event()      {}
func (Wake) event()           {}
func (Settle) event()         {}
func (Unsent) event()         {}
func (Command) event()        {}
func (Answered) event()       {}
func (AskChild) event()       {}
func (ChildEnded) event()     {}

// Known reports whether this version of the program supports the operation and the outcome of the reply.
func (e Reply) Known() bool {
	switch e.Outcome {
	case OutcomeDone, OutcomeFailed, OutcomeRetryLater:
		return e.Operation == Do || e.Operation == UndoOp
	}
	return false
}
