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

const (
	QueueClear QueueState = iota // no: the agent has most likely received the request
	QueueHeld                    // the queue of the agent, or that of the replies, holds a backlog
	QueueLost                    // a restart has lost the queue with the request
)

// DeadlinePassed reports that the task's deadline has passed. Only the Supervisor creates this event (P23a, a
// deadline stops or undoes the order).
type DeadlinePassed struct{ Run int }

// ResendDue reports that the task's ResendTime has passed: an end is still unsettled (P11, an end is reported
// until settled), or a status is undelivered (P12b, a status delays nothing else). Only the Supervisor creates
// this event.
type ResendDue struct{}

// Wake asks the Scheduler to continue a step.
type Wake struct {
	Step    string `json:"step,omitempty"`
	Run     int    `json:"run,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Early means that the step's agent can call its service again. It ends the wait of a step that was handed
	// back because the agent could not call (P45, "not now" is not a failure).
	Early bool `json:"early,omitempty"`
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

// The commands below are also the bodies of HTTP requests. Their tags describe and limit the fields. A field
// that only an actor sets has no name in JSON.

// Sender names the sender of a command, and the reason in the sender's words. The verdict stores both
// fields. Both fields may be empty.
type Sender struct {
	By     string `json:"by,omitempty" maxLength:"128" doc:"name of the sender"`
	Reason string `json:"reason,omitempty" maxLength:"512" doc:"reason, for the history"`
}

// Cancel asks to stop and undo an order (P17, a cancel is kept).
type Cancel struct {
	OrderID string `json:"-"` // set by the actor if no task exists
	ID      string `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
	Run     int    `json:"run,omitempty" minimum:"0" doc:"run to cancel; a cancel of an older run changes nothing"`
	Sender
}

// UndoCommand is the operator's decision to undo a task in Error.
type UndoCommand struct {
	ID      string `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
	Command int    `json:"command" minimum:"0" doc:"the task's command number as last seen; any other number is refused, because another command came first"`
	Sender
}

// Resubmit is the operator's decision to continue an order in Error, or to start a Compensated order again
// (P18, resubmit uses a remembered key).
//
// If Definition is set, the task first moves to that definition, as with a Move. If Step is set, Input
// replaces the present input of the step (P51, a call can get another input).
type Resubmit struct {
	ID         string          `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
	Command    int             `json:"command" minimum:"0" doc:"the task's command number as last seen; any other number is refused, because another command came first"`
	Deadline   Time            `json:"deadline,omitzero" doc:"the new deadline; if absent, the order has none"`
	Definition string          `json:"definition,omitempty" pattern:"^(latest|[0-9a-f]{32})$" doc:"definition to move the order to first: the hash of one of its workflow, or latest; if absent, the order keeps its definition"`
	Step       string          `json:"step,omitempty" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"step that gets another input; refused if its agent got a request and no proof says that it had no effect"`
	Input      json.RawMessage `json:"input,omitempty" doc:"input of the step instead of its definition's; any JSON value except null, at most 32 KiB"`
	To         *Target         `json:"-"` // target of the move, added by the actor
	Sender
}

// Resolve states whether the call of a step in doubt took effect. Output is nil if the operator did not state
// the step's output.
type Resolve struct {
	ID      string          `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
	Command int             `json:"command" minimum:"0" doc:"the task's command number as last seen; any other number is refused, because another command came first"`
	Step    string          `json:"step" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"the step in doubt"`
	Fact    Fact            `json:"fact" enum:"happened,not-happened,undone"`
	Output  json.RawMessage `json:"output,omitempty" doc:"output of the step, if it happened while the order was going forward; any JSON value except null, at most 48 KiB"`
	Sender
}

// Close is the operator's decision to end a task in its present state (P48, close ends an order as it
// stands). The task must be in Error, or wait for children that will never end.
type Close struct {
	ID      string `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
	Command int    `json:"command" minimum:"0" doc:"the task's command number as last seen; any other number is refused, because another command came first"`
	// Absent lists the open children that will never report an end to the task. Such a child is not stored,
	// is damaged, or has ended. During an undo, a Processed child is not absent. The actor sets Absent.
	Absent []string `json:"-"`
	Sender
}

// Move is the operator's decision to pin the task to another definition of its workflow (P49, move pins
// another definition).
type Move struct {
	ID         string `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
	Command    int    `json:"command" minimum:"0" doc:"the task's command number as last seen; any other number is refused, because another command came first"`
	Definition string `json:"definition" pattern:"^(latest|[0-9a-f]{32})$" doc:"the hash of a definition of the order's workflow, or latest"`
	To         Target `json:"-"` // target of the move, added by the actor
	Sender
}

// Erase is the operator's decision to remove people's data from an order that has ended (P52, erase removes
// content, not identity).
type Erase struct {
	ID      string `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
	Command int    `json:"command" minimum:"0" doc:"the task's command number as last seen; any other number is refused, because another command came first"`
	// ActiveAncestor is the ID of an ancestor of this order that may still need the content. The ancestor has
	// not ended, or its end was not reported yet. It is "" without such an ancestor. The actor sets
	// ActiveAncestor.
	ActiveAncestor string `json:"-"`
	KnownHash      string `json:"-"` // hash of the submission, which the erased task keeps
	Sender
}

// Answered is an answer from a person or an application (P35, an answer decides a round). The answer is for
// Step. If Step is empty, the answer is for every step that waits for the event Name.
type Answered struct {
	ID    string          `json:"id,omitempty"`
	Run   int             `json:"run,omitempty"`
	Step  string          `json:"step,omitempty"`
	Name  string          `json:"event,omitempty"`
	Round int             `json:"round,omitempty"` // round of the step, from 1; 0 with Name
	Value json.RawMessage `json:"value,omitempty"`
	By    string          `json:"by,omitempty"`
	Note  string          `json:"reason,omitempty"` // reason in the words of the person who answers
	// Token determines Run, Step and By if it is set. The task does not store the refusal of an answer with a
	// token (P39, a token is an answer's permission).
	Token string `json:"token,omitempty"`
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
	OrderID     string          `json:"-"` // ID of the child, the task of its message
	Parent      Parent          `json:"parent"`
	Ask         ChildAsk        `json:"ask"`
	Workflow    string          `json:"workflow"`
	Definition  string          `json:"definition"` // hash of the child's definition
	Priority    string          `json:"priority,omitempty"`
	Order       json.RawMessage `json:"order"`
	ContentHash string          `json:"-"` // hash of the order, set by the actor that stores it
	// To is the definition with the hash in Definition. The actor sets To if a Compensated child is asked to
	// start again with another definition.
	To *Definition `json:"-"`
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
)

// ChildEnded reports to a parent how a child task has ended (P41). It is an effect of the child's decision,
// and an event of the parent. Parent.Attempt is the latest attempt that sent a request to the child.
type ChildEnded struct {
	Parent  Parent          `json:"parent"`
	State   ChildState      `json:"state"`
	Output  json.RawMessage `json:"output,omitempty"` // output of the child's workflow
	Code    string          `json:"code,omitempty"`   // reason why the child did not succeed
	Message string          `json:"message,omitempty"`
}

func (Submitted) event()      {}
func (Reply) event()          {}
func (Progress) event()       {}
func (Overdue) event()        {}
func (DeadlinePassed) event() {}
func (ResendDue) event()      {}
func (Wake) event()           {}
func (Settle) event()         {}
func (Unsent) event()         {}
func (Cancel) event()         {}
func (UndoCommand) event()    {}
func (Resubmit) event()       {}
func (Resolve) event()        {}
func (Close) event()          {}
func (Move) event()           {}
func (Erase) event()          {}
func (Answered) event()       {}
func (AskChild) event()       {}
func (ChildEnded) event()     {}

// Target is the definition to which a task is moved. If Definition is nil, Absent states the reason.
type Target struct {
	Definition *Definition
	Absent     string
}

// Is reports whether the target is the definition with that hash.
func (to Target) Is(hash string) bool { return to.Definition != nil && to.Definition.Hash == hash }

// Known reports whether this version of the program supports the operation and the outcome of the reply.
func (e Reply) Known() bool {
	switch e.Outcome {
	case OutcomeDone, OutcomeFailed, OutcomeRetryLater:
		return e.Operation == Do || e.Operation == UndoOp
	}
	return false
}

const noNumber = -1

// CommandNames lists the names of all commands. The reserve of a document has a place for each refused one.
var CommandNames = []string{"cancel", "undo", "resubmit", "resolve", "close", "move", "erase", "answer"}

// Command holds the common fields of commands and answers.
type Command struct {
	Name   string // "cancel", "undo", "answer" and so on; "" if the event is no command
	ID     string
	Number int    // command number, or noNumber
	From   Sender // zero for an answer
}

// CommandOf returns the common fields of a command or an answer. For any other event, only Number is set, to
// noNumber.
func CommandOf(ev Event) Command {
	switch e := ev.(type) {
	case Cancel:
		return Command{"cancel", e.ID, noNumber, e.Sender}
	case UndoCommand:
		return Command{"undo", e.ID, e.Command, e.Sender}
	case Resubmit:
		return Command{"resubmit", e.ID, e.Command, e.Sender}
	case Resolve:
		return Command{"resolve", e.ID, e.Command, e.Sender}
	case Close:
		return Command{"close", e.ID, e.Command, e.Sender}
	case Move:
		return Command{"move", e.ID, e.Command, e.Sender}
	case Erase:
		return Command{"erase", e.ID, e.Command, e.Sender}
	case Answered:
		return Command{Name: "answer", ID: e.ID, Number: noNumber}
	}
	return Command{Number: noNumber}
}

// Stamped returns the command with the ID, the sender and the number. A Cancel gets no number. An answer gets
// only the ID.
func Stamped(ev Event, id string, from Sender, number int) Event {
	switch e := ev.(type) {
	case Cancel:
		e.ID = id
		e.Sender = from
		return e
	case UndoCommand:
		e.ID = id
		e.Command = number
		e.Sender = from
		return e
	case Resubmit:
		e.ID = id
		e.Command = number
		e.Sender = from
		return e
	case Resolve:
		e.ID = id
		e.Command = number
		e.Sender = from
		return e
	case Close:
		e.ID = id
		e.Command = number
		e.Sender = from
		return e
	case Move:
		e.ID = id
		e.Command = number
		e.Sender = from
		return e
	case Erase:
		e.ID = id
		e.Command = number
		e.Sender = from
		return e
	case Answered:
		e.ID = id
		return e
	}
	return ev
}
