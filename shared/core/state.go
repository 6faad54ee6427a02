package core

import "fmt"

// State is the state of a task or of a step.
type State string

// States of tasks and steps.
const (
	Pending    State = "Pending"    // a step before its first claim, or between two attempts
	Skipped    State = "Skipped"    // a step whose condition was false
	Processing State = "Processing" // a task that goes forward; a step whose agent was asked to do it
	Processed  State = "Processed"  // a task or step that is done
	// Waiting is the state of a claimed step that waits for a time, an answer or its child tasks. No request
	// of the step is in flight (P33, a waiting step asks no agent).
	Waiting State = "Waiting"
	// Settling is the state of a step that is decided by its first members or children, while those that have lost are
	// still undone (P54).
	Settling     State = "Settling"
	Failed       State = "Failed"       // a step that has failed for good; its call may have had an effect
	UndoWait     State = "UndoWait"     // a step whose undo waits
	Compensating State = "Compensating" // a task that is being undone; a step whose undo was requested
	Compensated  State = "Compensated"  // a task or step that was undone
	Cancelled    State = "Cancelled"    // a task that its caller stopped, and that was undone
	Closed       State = "Closed"       // a task that an operator ended with its steps as they were
	Error        State = "Error"        // a task that waits for an operator
)

// Phase is a direction of a task.
type Phase string

// Directions of a task.
const (
	Forward Phase = "forward"
	Undoing Phase = "undo"
)

// Parent identifies the step that a child task belongs to (P41, parent and child talk by messages).
type Parent struct {
	OrderID string `json:"task"`
	Run     int    `json:"run"`
	Step    string `json:"step"`
	Index   int    `json:"index"`   // index of the item in the step's list, from 0
	Attempt int    `json:"attempt"` // highest attempt of the step that has sent a request to the child
}

// Codes and the text of an attempt whose reply did not come in time.
const (
	CodeTimeout = "timeout"
	CodeQueue   = "queue" // the request waited in a queue until it was too late (P32)
	TimeoutText = "no reply by the complete-by time"
)

// Fact is an operator's statement about a step in doubt. A step is in doubt if nobody knows whether its call
// took effect.
type Fact string

// Statements about a step in doubt.
const (
	Happened    Fact = "happened"
	NotHappened Fact = "not-happened"
	Undone      Fact = "undone"
)

// Facts lists the facts that an operator can state.
var Facts = []Fact{Happened, NotHappened, Undone}

// Resolved is a fact that an operator stated. Later requests of the step in the same run contain the fact.
type Resolved struct {
	Fact    Fact `json:"fact" enum:"happened,not-happened,undone"`
	Command int  `json:"command" minimum:"0" doc:"number of the command"`
	At      Time `json:"at,omitzero"` // time at which the operator stated the fact
}

// Refusal returns the text that refuses a command to a child. The text lists the commands that a child
// accepts.
func (p *Parent) Refusal() string {
	return fmt.Sprintf("the order is child %d of step %s of %s, which decides about it; a child in Error "+
		"can be resubmitted, moved, resolved or closed, and for all else give the command to %s", p.Index,
		p.Step, p.OrderID, p.OrderID)
}

// Terminal reports whether a task in this state has come to an end other than Error.
func (s State) Terminal() bool {
	switch s {
	case Processed, Compensated, Cancelled, Closed:
		return true
	}
	return false
}
