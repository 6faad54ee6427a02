package core

import "encoding/json"

// Event is one thing that happened to a task. The set is closed.
type Event interface{ event() }

// Operation of a request or a reply.
type Operation string

const (
	Do     Operation = "do"
	UndoOp Operation = "undo"
)

// Outcome of a request.
type Outcome string

const (
	OutcomeDone       Outcome = "done"
	OutcomeFailed     Outcome = "failed"      // permanent
	OutcomeRetryLater Outcome = "retry-later" // transient; the agent's own retries are used up
)

// Submitted is an accepted submission. Task is nil in Decide for a new order.
type Submitted struct {
	OrderID     string
	Workflow    string
	ContentHash string
	KnownHash   string // hash of what the task that is there was submitted with; "" if none is there
	Priority    string
	ReplyTo     string
	Deadline    Time // deadline of the order; zero means the definition's, if any
}

// Reply is an agent's answer (P15).
type Reply struct {
	Step       string
	Run        int
	Attempt    int
	Operation  Operation
	Outcome    Outcome
	Output     json.RawMessage // output of a done reply
	Code       string          // code of a failed or retry-later reply, see StepError
	Message    string
	RetryAfter Duration // least wait that the service asked for with retry-later; 0 means none
	// no effect of the key so far, and none by this attempt later; for a failed or retry-later point of no
	// return (P22a)
	NoEffect bool
}

// Progress reports that the present attempt of a do is still running (P43).
type Progress struct {
	Step      string
	Run       int
	Attempt   int
	Operation Operation
	Until     Time // latest time of the next report; zero means after the step's timeout
	Percent   int  // 0 to 100
	Note      string
}

// Overdue reports that a step's complete-by has passed. Only the Supervisor decides it (P16).
type Overdue struct {
	Step    string
	Attempt int
	Backlog bool // the agent's queue holds a backlog (P32)
}

// DeadlinePassed reports that the task's deadline has passed. Only the Supervisor decides it (P23a).
type DeadlinePassed struct{ Run int }

// ResendDue reports that a final status is unacknowledged past its time. Only the Supervisor decides it
// (P11).
type ResendDue struct{}

// Wake asks the Scheduler to go on with a step, or, where Step is empty, with the whole task.
type Wake struct {
	Step    string
	Run     int
	Attempt int
}

// Settle asks the Scheduler to send the final status again (P11).
type Settle struct{}

// Sender names the sender of a command and the reason in the sender's words. It is kept with the verdict.
// Both may be absent.
type Sender struct{ By, Reason string }

// Cancel asks to stop and undo an order (P17).
type Cancel struct {
	OrderID string
	ID      string // ID of the command
	Run     int
	Sender
}

// UndoCommand is the operator's decision to undo a task in Error.
type UndoCommand struct {
	ID      string
	Command int // the number that the sender saw (P5)
	Sender
}

// Resubmit is the operator's decision to go on, or to start a Compensated order again (P18).
type Resubmit struct {
	ID       string
	Command  int
	Deadline Time    // zero removes the deadline
	To       *Target // definition to move to (P49); nil keeps the pinned one
	Step     string  // step that gets another Input (P51); "" if no step does
	Input    json.RawMessage
	Sender
}

// Resolve states what happened to a step in doubt.
type Resolve struct {
	ID      string
	Command int
	Step    string
	Fact    Fact
	Output  json.RawMessage // output of the step; nil if the operator did not state it
	Sender
}

// Close is the operator's decision to end a task as it stands: one in Error, or one whose children never
// answer (P48).
type Close struct {
	ID      string
	Command int
	// Absent lists the open children that will not end by themselves, as the actor that decides has found
	// them: they are not stored, are damaged, or have ended.
	Absent []string
	Sender
}

// Move is the operator's decision to pin the task to another definition of its workflow (P49).
type Move struct {
	ID      string
	Command int
	To      Target
	Sender
}

// Erase is the operator's decision to remove what an order at an end holds of people's data (P52).
type Erase struct {
	ID      string
	Command int
	// Unrested is an order that the task is a child of, directly or not, and that has not come to rest, as
	// the actor that decides has found it. It is empty if there is none.
	Unrested  string
	KnownHash string // hash of what the task was submitted with, which stays
	Sender
}

// Answered is an answer from outside: to a step or, where Step is empty, to every step that waits for the
// event of that name (P35).
type Answered struct {
	ID    string
	Run   int
	Step  string
	Name  string // name of the event
	Round int    // round of the step, from 1; 0 with Name
	Value json.RawMessage
	By    string
	Note  string // why, in the words of who answers
	Token bool   // it came by a token, which says Run, Step and By: a refusal of it is not stored (P39)
}

// ChildAsk is a step's request to a child task.
type ChildAsk string

const (
	AskStart  ChildAsk = "start"
	AskCancel ChildAsk = "cancel" // undo it, unless it is Processed
	AskUndo   ChildAsk = "undo"
)

// AskChild is a step's request to a child task (P41): an effect of the parent's decision, and the event of
// the child. It always holds the whole child, because the child may not know any other request.
type AskChild struct {
	OrderID     string          `json:"task"` // ID of the child
	Parent      Parent          `json:"parent"`
	Ask         ChildAsk        `json:"ask"`
	Workflow    string          `json:"workflow"`
	Definition  string          `json:"definition"` // hash
	Priority    string          `json:"priority,omitempty"`
	Order       json.RawMessage `json:"order"`
	ContentHash string          `json:"-"` // hash of the order, set by the actor that stores it
	// definition named by Definition, set by the actor if an undone child has another one
	To *Definition `json:"-"`
}

// ChildState is the end of a child task, or its stop.
type ChildState string

const (
	ChildProcessed   ChildState = "processed"
	ChildCompensated ChildState = "compensated"
	ChildError       ChildState = "error"   // it waits for the operator, and will end otherwise
	ChildClosed      ChildState = "closed"  // the operator has ended it as it stood (P48): it is in doubt
	ChildExpired     ChildState = "expired" // it had ended, and is no longer stored (P26)
)

// ChildEnded notifies a parent of how a child task has ended (P41): an effect of the child's decision, and
// the event of the parent. It names the attempt of the parent's step that asked last.
type ChildEnded struct {
	Parent  Parent          `json:"parent"`
	State   ChildState      `json:"state"`
	Output  json.RawMessage `json:"output,omitempty"` // output of the child's workflow
	Code    string          `json:"code,omitempty"`   // reason why it has not ended forward
	Message string          `json:"message,omitempty"`
}

// bySupervisor reports an event that only the Supervisor decides. It claims nothing, sends no
// request (P16) and leaves a status to the Scheduler (P11).
func bySupervisor(ev Event) bool {
	switch ev.(type) {
	case Overdue, DeadlinePassed, ResendDue:
		return true
	}
	return false
}

func (Submitted) event()      {}
func (Reply) event()          {}
func (Progress) event()       {}
func (Overdue) event()        {}
func (DeadlinePassed) event() {}
func (ResendDue) event()      {}
func (Wake) event()           {}
func (Settle) event()         {}
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

// At is the context of a decision: the time, the instance, and what it has measured.
type At struct {
	Now   Time
	By    string              // instance that decides, recorded in LockedBy
	Waits map[string]Duration // queue wait of each agent's requests (P32)
	// queue lengths by agent, given as waits, if a step may choose the agent (P44); some may be missing
	Queues    map[string]Duration
	SizeLimit SizeLimit // limit of the document that stores the decision
	Tokens    Tokens    // tokens of answers (P39); nil if there is no key
}
