package core

import "encoding/json"

// Names of commands.
const (
	Cancel      = "cancel" // stop and undo an order (P17, a cancel is kept)
	UndoCommand = "undo"   // undo an order in Error
	// Resubmit continues an order in Error, or starts a Compensated order again (P18, resubmit uses a remembered
	// key). With a Definition, the task first moves to it. With a Step, Input replaces the present input of the
	// step (P51, a call can get another input).
	Resubmit = "resubmit"
	Resolve  = "resolve" // state whether the call of a step in doubt took effect
	// Close ends a task in its present state (P48, close ends an order as it stands). The task must be in Error,
	// or wait for children that will never end.
	Close = "close"
	Move  = "move"  // pin the task to another definition of its workflow (P49, move pins another definition)
	Erase = "erase" // remove people's data from an order that has ended (P52)

	answerName = "answer"
)

const noNumber = -1

// Command is a decision of an application or an operator about an order (P5, commands have a number and an ID).
// Each command has a Name, an ID and a Sender, and uses some of the other fields.
type Command struct {
	Name   string `json:"-"`
	ID     string `json:"id,omitempty" required:"true" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict"`
	Number int    `json:"command" required:"false" minimum:"0" doc:"the task's command number as last seen; another one refuses the command; a cancel has none"`
	Run    int    `json:"run,omitempty" minimum:"0" doc:"cancel: the run to cancel; a cancel of an older run changes nothing"`

	Deadline   Time            `json:"deadline,omitzero" doc:"resubmit: the new deadline; without it the order has none"`
	Definition string          `json:"definition,omitempty" pattern:"^(latest|[0-9a-f]{32})$" doc:"move: hash of the definition that the order runs from now on, or latest; resubmit: the same, if the order does not stay at its own"`
	Step       string          `json:"step,omitempty" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"resolve: the step in doubt; resubmit: the step that gets the input"`
	Fact       Fact            `json:"fact,omitempty" enum:"happened,not-happened,undone" doc:"resolve: what the operator knows"`
	Output     json.RawMessage `json:"output,omitempty" doc:"resolve: what a step that happened returned, any value but null of at most 49152 bytes"`
	Input      json.RawMessage `json:"input,omitempty" doc:"resubmit: input of the step in place of the definition's, any value but null of at most 32768 bytes"`
	Sender

	// The actor that decides sets the fields below.

	OrderID string  `json:"-"` // of a Cancel without a task
	To      *Target `json:"-"` // target of a Move or a Resubmit
	// Absent lists the open children that will never report an end to a task that is closed. Such a child is not
	// stored, is damaged, or has ended. During an undo, a Processed child is not absent.
	Absent []string `json:"-"`
	// ActiveAncestor is the ID of an ancestor of an order to erase that may still need the content. The ancestor
	// has not ended, or its end was not reported yet. It is "" without such an ancestor.
	ActiveAncestor string `json:"-"`
	KnownHash      string `json:"-"` // hash of the submission, which an erased task keeps
}

// Sender names the sender of a command, and the reason in the sender's words. The verdict stores both
// fields. Both fields may be empty.
type Sender struct {
	By     string `json:"by,omitempty" maxLength:"128" doc:"name of the sender; close and erase need it"`
	Reason string `json:"reason,omitempty" maxLength:"512" doc:"reason, for the history; close and erase need it"`
}

// MarshalJSON leaves the number of a Cancel out.
func (e Command) MarshalJSON() ([]byte, error) {
	type members Command
	if e.Name != Cancel {
		return Marshal(members(e))
	}
	return Marshal(struct {
		members
		Number *int `json:"command,omitempty"`
	}{members: members(e)})
}

// Target is the definition to which a task is moved. If Definition is nil, Absent states the reason.
type Target struct {
	Definition *Definition
	Absent     string
}

// Is reports whether the target is the definition with that hash.
func (to Target) Is(hash string) bool { return to.Definition != nil && to.Definition.Hash == hash }

// CommandOf returns the command, or the common fields of an answer. For any other event, only Number is set, to
// noNumber.
func CommandOf(ev Event) Command {
	switch e := ev.(type) {
	case Command:
		if e.Name == Cancel {
			e.Number = noNumber
		}
		return e
	case Answered:
		return Command{Name: answerName, ID: e.ID, Number: noNumber}
	}
	return Command{Number: noNumber}
}

// Stamped returns the command with the ID, the sender and the number. A Cancel gets no number. An answer gets
// only the ID.
func Stamped(ev Event, id string, from Sender, number int) Event {
	switch e := ev.(type) {
	case Command:
		e.ID = id
		e.Sender = from
		if e.Name != Cancel {
			e.Number = number
		}
		return e
	case Answered:
		e.ID = id
		return e
	}
	return ev
}
