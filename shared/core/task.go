package core

import (
	"encoding/json"
)

// State is the ProcessState of a task or of a step.
type State string

// States of tasks and steps.
const (
	Pending    State = "Pending"    // step: not claimed yet, or handed back for another attempt
	Skipped    State = "Skipped"    // step: its condition was false
	Processing State = "Processing" // task: going forward; step: claimed, a request was sent to its agent
	Processed  State = "Processed"  // done
	// step: claimed, with no request in flight; it continues at a time (P33, a waiting step asks no agent)
	Waiting      State = "Waiting"
	Failed       State = "Failed"       // step: failed for good, in doubt whether it took effect
	UndoWait     State = "UndoWait"     // step: its undo waits
	Compensating State = "Compensating" // task: being undone; step: its undo was requested
	Compensated  State = "Compensated"  // undone
	Cancelled    State = "Cancelled"    // task: stopped by the caller, and undone
	Closed       State = "Closed"       // task: ended by the operator as it stood (P48)
	Error        State = "Error"        // task: waits for the operator
)

// Phase is the direction in which a task in Error was going.
type Phase string

// Directions of a task.
const (
	Forward Phase = "forward"
	Undoing Phase = "undo"
)

// Why is the reason why a task compensates.
type Why string

// Reasons why a task compensates.
const (
	WhyFailure  Why = "failure"
	WhyCancel   Why = "cancel"
	WhyOperator Why = "operator"
	WhyDeadline Why = "deadline"
	WhyParent   Why = "parent" // the step of its parent has stopped it, or is being undone (P41)
)

// Task is one run of a workflow for one order. One conditional write replaces the whole document. Callers
// treat a task as immutable once Decide has returned it.
type Task struct {
	OrderID string
	// version of the stored document, set by the actor that commits (P8, every commit is conditional)
	Version    int64
	Workflow   string
	Definition string // hash
	// key ID of the tokens in its inputs (P39, a token is an answer's permission); "" if it has no tokens
	TokenKey string
	// hash of the submission; an order that is stored apart has this hash as its key; "" if Order holds the
	// order
	ContentHash string
	// Order is the order as submitted, byte for byte. It is empty if the order is stored apart (Apart), and
	// after a Cancel that came before its order (P17, a cancel is kept).
	Order        json.RawMessage
	Priority     string
	ReplyTo      string  // logical name of a queue; "" means none
	Parent       *Parent // parent of a child (P41); nil for an order that was submitted
	ProcessState State
	Phase        Phase // direction of a task in Error
	Run          int   // number of the run (P2, attempts of a run share a key)
	Commands     Commands
	Attempts     Attempts
	Hops         int // forward claims since the last command (P23, a hop budget bounds claims)
	StatusSeq    int // sequence number of the last status message
	Start        Start
	Undo         Reversal
	Reason       Reason   // reason why the task is undone or has stopped
	End          End      // zero while the task runs
	Closing      *Closing // record of the Close command; nil unless the task is Closed
	Erased       *Erasure // nil if the task has its content (P52)
	Output       json.RawMessage
	Created      Time
	Deadline     Deadline
	Due          Time // the indexed due time; may be early, never late (P9)
	// The operator's list includes the task: Error, nothing in flight, status and alert sent (P9, tasks not
	// at rest are due).
	Attention bool
	Steps     []Step                     // steps in the order of the definition
	Unknown   map[string]json.RawMessage // fields of a newer minor version, stored unchanged
}

// Commands is the task's record of commands (P5, commands have a number and an ID).
type Commands struct {
	// Number is the number that a command must carry. It grows with each accepted command, and when a list in
	// Refused is full.
	Number   int
	Verdicts []Verdict
	// short hashes of the IDs of refused commands of this run, by command; see Remember
	Refused map[string][]string
}

// Attempts is the task's record of unsuccessful attempts, and of the attempts of removed steps.
type Attempts struct {
	Last    []Attempt // the latest, oldest first; see MaxAttempts
	Earlier Earlier   // counts of the attempts before Last
	// attempts of steps that a Move removed, kept because their names may return (P1, every claim has a new
	// attempt; P49, move pins another definition)
	Removed map[string]int
}

// Start is the last start of the task: the beginning of a run, or a Resubmit.
type Start struct {
	Seq   int    // number of the status "started"; 0 if none was due
	Cause string // cause of that status (P4, a cause is logical)
	At    Time   // zero means Created
}

// Reversal is the decision to undo the task. It is set while the task compensates, and afterwards.
type Reversal struct {
	Why         Why
	CancelAsked bool
	// reason of the undo; if the task then stops in Error or is closed, Task.Reason states why
	Reason Reason
}

// Reason states why an order is undone or has stopped (P19, policy decides about a failed step). It stays
// until the next run.
type Reason struct {
	Step string // step that is the reason, or ""
	Code string // short and stable
	Text string // text for people: the error, or the failure of the output expression
}

// End is the present end of the task, or its stop in Error. The zero value means that the task runs.
type End struct {
	At    Time
	Cause string // event that led to the end (P4)
	Seq   int    // number of its status; 0 if none is due
	// Commands.Number when the task entered Error; every alert about this stop contains it (P12, effects are
	// emitted again)
	Command int
	// next time to send an unacknowledged final status; zero if none is unacknowledged (P11, an end is
	// reported until settled)
	ResendAt Time
}

// Deadline is the time by which the task has to be done.
type Deadline struct {
	At  Time // zero if the task has no deadline
	Seq int  // number of deadlines that were set in this run, for the cause (P4)
}

// Step is one step's part of the document.
type Step struct {
	Name       string
	State      State
	Attempt    int // number of the claim, do and undo alike; never reset (P1)
	Claim      Claim
	First      First
	CompleteBy Time // see P9a (a waiting step has two times)
	Wait       StepWait
	Stops      Stops
	Failures   Failures
	Finish     Finish
	EndState   State // State when the task entered Error, for its status (P12); "" if State is unchanged
	Output     json.RawMessage
	// time of the proof that no attempt has had an effect (P22a, a proven refusal permits undo); zero without
	// a proof, and after a new claim
	NoEffect Time
	Error    *StepError // the last failure
	// code of the do's failure after which the task goes on without the step (P42, orders can go on after
	// failures); "" if it does not
	FailureCode string
	Resolved    *Resolved
	// input that an operator gave to the step in this run (P51, a call can get another input); nil if the
	// definition's input counts
	Corrected *Corrected
	Answers   *Answers  // answers to a step that waits for them; nil for every other step
	Children  *Children // children of a step of child tasks; nil for every other step
	Unknown   map[string]json.RawMessage
}

// Claim is the last claim of a step. When it ends, By, Cause, StopBy and Progress are cleared.
type Claim struct {
	By string // instance that made the claim
	// agent of the claim; "" means the first agent in the definition (P44, several agents can do one step)
	Agent  string
	Undo   bool   // the attempt is an undo
	Cause  string // event that led to the claim (P4)
	At     Time
	StopBy Time // no side effect of the attempt begins later (P6, two times in each request)
	// allowed time in the queue, which a backlog doubles; 0 once the step is Processed (P32)
	Allowance Duration
	Progress  *StepProgress // latest report of the attempt (P43)
}

// First is the first claim of a step in this run. It is zero if this run has not attempted the step.
type First struct {
	Nth int  // place in the order of first claims, from 1 (P7, undo covers every attempted step)
	At  Time // time of that claim, stored at the second claim; see FirstClaim
}

// StepWait is the state of a waiting step.
type StepWait struct {
	At Time // end of the wait (P9a)
	// Until is the end of a wait, or of the time for an answer, as set by the last claim. It keeps its value
	// after that time.
	Until Time
}

// Stops holds the latest stopBy of the earlier attempts of a step in this run; see Quiet and LastStop.
type Stops struct{ Do, Undo Time }

// Failures counts a step's failures since the last command that reset them.
type Failures struct {
	Do, Undo int
	Queued   Duration // total queue time of hand-backs that did not count (P32, queue time is not a failure)
}

// Finish is the moment when a step became Processed.
type Finish struct {
	At    Time
	Seq   int    // number of the status "step finished"; 0 if none was due
	Cause string // cause of that status (P4)
}

// StepProgress is the last report of an attempt (P43, long work reports progress).
type StepProgress struct {
	Percent int    `json:"percent" doc:"0 to 100"`
	Note    string `json:"note,omitempty"` // free text, at most MaxNote bytes
	At      Time   `json:"at" doc:"time when it was stored; at most every 30 s"`
}

// Parent is the step that a child task belongs to, and its attempt (P41, parent and child talk by messages).
type Parent struct {
	OrderID string `json:"task"`
	Run     int    `json:"run"`
	Step    string `json:"step"`
	Index   int    `json:"index"`   // index of the item in the step's list, from 0
	Attempt int    `json:"attempt"` // highest attempt of the step that asked something of the child
}

// Children is a step's record of its child tasks (P40, a step can have child orders). Only Results grows with
// the number of children, and its size is bounded.
type Children struct {
	Count   int         `json:"count"`             // length of the list
	Next    int         `json:"next"`              // index of the child to start next, in this attempt
	Started int         `json:"started,omitempty"` // highest Next of this run
	Open    []OpenChild `json:"open,omitempty"`    // asked, and have not ended
	// first child that was asked to undo; all children after it were asked too
	Cursor int `json:"cursor,omitempty"`
	Failed int `json:"failed,omitempty"` // number of children that were not Processed
	// FailedAt lists the first of these children, at most maxFailedAt.
	FailedAt []int  `json:"failedAt,omitempty"`
	Reason   string `json:"reason,omitempty"` // reason of the first failure, or why no more are started
	Stopped  bool   `json:"stopped,omitempty"`
	// Results holds the collected outputs, or the output of the only child, in the order of arrival.
	Results []Collected `json:"results,omitempty"`
	Rounds  int         `json:"rounds,omitempty"` // number of times that all open children were asked again
}

// Collected is the output of a child.
type Collected struct {
	Index  int             `json:"index"`
	Output json.RawMessage `json:"output"`
}

// OpenChild is a child that got a request and has not ended.
type OpenChild struct {
	Index int    `json:"index"`
	Cause string `json:"cause"` // cause of its request (P4)
	// ChildError if the child has stopped; ChildClosed or ChildExpired if it cannot be undone any more
	State string `json:"state,omitempty"`
}

// Answers is a step's record of the answers to it (P35, an answer decides a round; P36, answers may come
// early, late or twice). The decision is the step's output.
type Answers struct {
	Round   int      `json:"round"`             // current round, from 1; each repeated question starts one
	Need    int      `json:"need,omitempty"`    // 0 before the step's claim
	Who     []string `json:"who,omitempty"`     // people who may answer; empty means everyone
	NotSelf string   `json:"notSelf,omitempty"` // person who may not answer
	// number of the newest reminder of this round (P37, a question has a time)
	Reminded int `json:"reminded,omitempty"`
	// RemindedAt is the time when that reminder was sent first. Moved reports whether the task was moved
	// since. Then the reminder must not be sent again.
	RemindedAt Time `json:"remindedAt,omitzero"`
	Moved      bool `json:"moved,omitempty"`
	// votes of this round in the order of arrival; at most MaxVoters
	Votes    []Vote    `json:"votes,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"` // latest verdicts on answers, including earlier runs
}

// Vote is the answer of one person.
type Vote struct {
	By    string          `json:"by"`
	Value json.RawMessage `json:"value"`
	At    Time            `json:"at"`
}

// Decided is the output of a step that was answered, or whose time for an answer ended.
type Decided struct {
	Value json.RawMessage `json:"value"` // null if the time ended without a value
	By    string          `json:"by"`    // names, separated by commas; ByTimeout if the time ended
	At    Time            `json:"at"`
}

// ByTimeout replaces the person's name if the time for an answer ended.
const ByTimeout = "timeout"

// Codes of a do whose reply did not come.
const (
	CodeTimeout = "timeout"
	CodeQueue   = "queue" // while its agent, or the Scheduler, had a backlog (P32)
	TimeoutText = "no reply by the complete-by time"
)

// StepError is the last failure of a step, for people.
type StepError struct {
	Code    string `json:"code"`    // short and stable: "timeout", "http-422", "expression" …
	Message string `json:"message"` // text of at most MaxMessage bytes, see TrimMessage
	At      Time   `json:"at"`
	Attempt int    `json:"attempt,omitempty"`
	// Since is the time of the first hand-back in an unbroken row of hand-backs that did not count as
	// failures (P45, "not now" is not a failure). It is zero for every other failure.
	Since Time `json:"since,omitzero"`
	// Polling is the time of the first not-yet in that row.
	Polling Time `json:"polling,omitzero"`
}

// MaxAttempts is the number of unsuccessful attempts that a task keeps.
const MaxAttempts = 16

// Attempt is an unsuccessful attempt of any run. Its outcome is not "done". It is information for people. Its
// fields are bounded, and it holds no texts.
type Attempt struct {
	Step    string
	Number  int // number of the claim (P1); with Step it identifies the attempt
	Undo    bool
	Agent   string // agent, unless it is the first one of the pinned definition (P44, P49)
	Began   Time
	Ended   Time
	Outcome Outcome // failed, retry-later, overdue or superseded
	Code    string  // code of at most cutCode bytes; "" if superseded
}

// Outcomes of an attempt that ended without a reply.
const (
	OutcomeOverdue Outcome = "overdue" // no reply by its complete-by time
	// The undo of a fenced call was requested before a reply came (P20, what happens next is computed).
	OutcomeSuperseded Outcome = "superseded"
)

// Earlier counts the removed attempts by outcome.
type Earlier struct {
	Failed     int `json:"failed,omitempty"`
	Later      int `json:"later,omitempty"`
	Overdue    int `json:"overdue,omitempty"`
	Superseded int `json:"superseded,omitempty"`
}

// Count adds an attempt with the outcome.
func (e *Earlier) Count(o Outcome) {
	switch o {
	case OutcomeFailed:
		e.Failed++
	case OutcomeRetryLater:
		e.Later++
	case OutcomeOverdue:
		e.Overdue++
	case OutcomeSuperseded:
		e.Superseded++
	}
}

// Closing records who closed a task and the reason (P48, close ends an order as it stands).
type Closing struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Fact is an operator's statement about a step in doubt.
type Fact string

// Statements about a step in doubt.
const (
	Happened    Fact = "happened"
	NotHappened Fact = "not-happened"
	Undone      Fact = "undone"
)

// Resolved is an operator's fact. Later requests of the step in the same run carry it.
type Resolved struct {
	Fact    Fact `json:"fact"`
	Command int  `json:"command"`
	At      Time `json:"at,omitzero"` // time at which the operator stated it
}

// Verdict is the answer to one command. The task stores it for the sender (P5).
type Verdict struct {
	ID string `json:"id"`
	// name of the command: "cancel", "undo", "resubmit", "resolve", "close", "move", "erase", "answer"
	Command  string `json:"command"`
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
	By       string `json:"by,omitempty"`   // sender of the command
	Note     string `json:"note,omitempty"` // reason for the command, in the sender's words
	At       Time   `json:"at"`
}

// Clone copies the task so that the copy's steps can be changed.
func (t *Task) Clone() *Task {
	c := *t
	c.Steps = append([]Step(nil), t.Steps...)
	return &c
}

// Corrected is the input that an operator has given to a call instead of the input of the definition (P51).
// The task keeps it until the run ends.
type Corrected struct {
	Input   json.RawMessage `json:"input" doc:"input for its agent instead of the definition's"`
	Command int             `json:"command" doc:"number of the command that gave it"`
	By      string          `json:"by,omitempty" doc:"name of the sender"`
	Reason  string          `json:"reason,omitempty" doc:"reason, for the history"`
	At      Time            `json:"at"`
}

// Erasure records who erased the content of an order and the reason (P52, erase removes content, not
// identity).
type Erasure struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
	At     Time   `json:"at"`
}

// DropAttempts keeps only the last attempts, and counts the others.
func (t *Task) DropAttempts(keep int) {
	for ; len(t.Attempts.Last) > keep; t.Attempts.Last = t.Attempts.Last[1:] {
		t.Attempts.Earlier.Count(t.Attempts.Last[0].Outcome)
	}
}
