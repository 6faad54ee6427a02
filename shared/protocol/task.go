package protocol

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Why is the reason why a task compensates.
type Why string

// Reasons why a task compensates.
const (
	WhyFailure  Why = "failure"
	WhyCancel   Why = "cancel"
	WhyOperator Why = "operator"
	WhyDeadline Why = "deadline"
	WhyParent   Why = "parent" // the parent's step has cancelled the child, or is being undone
)

// Task is the work for one order, stored as one document. Each commit replaces the whole document, and fails
// if the stored version has changed since the load. Callers of protocol.Decide may change only the Version of
// the resulting task.
type Task struct {
	OrderID string `json:"OrderID"`
	// Version is the version of the stored document. The actor that commits the task sets it (P8, every
	// commit is conditional).
	Version    int64  `json:"Version"`
	Workflow   string `json:"Workflow,omitzero"`
	Definition string `json:"Definition,omitzero"` // hash of the definition that the task runs
	// TokenKey is the ID of the signing key for the tokens in the task's inputs (P39, a token is an answer's
	// permission). It is "" if the inputs have no tokens.
	TokenKey string `json:"tokenKey,omitzero"`
	// ContentHash is the hash of the submission. It identifies an order that has an item or row of its own.
	// It is "" if Order holds the order, or if no order has come.
	ContentHash string `json:"content,omitzero"`
	// Order is the order as submitted, byte for byte. It is empty in three cases:
	//   - The order has an item or row of its own (see Apart).
	//   - The content was erased.
	//   - A Cancel came before the order (P17, a cancel is kept).
	Order    json.RawMessage `json:"Order,omitempty"`
	Priority string          `json:"priority,omitzero"`
	ReplyTo  string          `json:"replyTo,omitzero"` // logical name of a queue or bus; "" means none
	Parent   *core.Parent    `json:"parent,omitzero"`  // step that a child belongs to; nil for a submitted order
	// Took holds short hashes of the IDs of the parent's answers that this run has used or refused (P56). The parent
	// gets them with the end.
	Took         []string   `json:"took,omitempty"`
	ProcessState core.State `json:"ProcessState"`
	Phase        core.Phase `json:"phase,omitzero"` // direction of a task in Error
	Run          int        `json:"run,omitzero"`   // number of the run, from 0 (P2, attempts of a run share a key)
	Commands     Commands   `json:",embed"`
	Attempts     Attempts   `json:",embed"`
	// number of counted forward claims since Start (P23, a hop budget bounds claims)
	Hops      int `json:"hops,omitzero"`
	StatusSeq int `json:"statusSeq,omitzero"` // sequence number of the last status message
	// Told is the number up to which the statuses were sent, or are recorded in Undelivered, before the last
	// commit. A restart sends the later ones again (P27, the embedded runtime survives its queues).
	Told int `json:"told,omitzero"`
	// Undelivered has an entry for each receiver that could not get a status.
	Undelivered []core.Undelivered `json:"undelivered,omitempty"`
	// EndSteps holds the steps in the final status of the present end, if the task was moved since then (P12,
	// effects are emitted again).
	EndSteps []core.StepSummary `json:"endSteps,omitempty"`
	Start    Start              `json:",embed"`
	Undo     Reversal           `json:",embed"`
	Reason   Reason             `json:"reason,omitzero"` // reason why the task is undone or has stopped
	End      End                `json:",embed"`          // the zero value while the task runs
	Closing  *Closing           `json:"closed,omitzero"` // record of the Close command; nil if the task is not Closed
	Erased   *Erasure           `json:"erased,omitzero"` // record of the erasure; nil if the content was not erased
	Output   json.RawMessage    `json:"output,omitempty"`
	Created  core.Time          `json:"Created"`
	Deadline Deadline           `json:",embed"`
	Due      core.Time          `json:"due,omitzero"` // indexed due time; it may be early, but is never late
	// Attention is true for a task in the operator's list. Such a task is in Error with nothing in flight,
	// and its end was reported (P9, tasks not at rest are due).
	Attention bool `json:"attention,omitzero"`
	// Damaged is the reason why the stored task cannot be read, or does not fit its definition. It is "" for
	// every other task, and is never stored. The other fields hold what can still be read (P60, a damaged order
	// is set aside).
	Damaged string                     `json:"-"`
	Steps   []Step                     `json:"Steps"`  // steps in the order of the definition
	Unknown map[string]json.RawMessage `json:",embed"` // fields of a newer minor version, stored unchanged
}

// Commands is the task's record of commands (P5, commands have a number and an ID).
type Commands struct {
	// Number is the number that the next command must state. It grows with each accepted command that has an
	// effect, and with each refused command that has the number, or a higher one.
	Number   int       `json:"command,omitzero"`
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Refused holds short hashes of the IDs of refused cancels and answers; see Remember.
	Refused map[string][]string `json:"refused,omitempty"`
}

// Attempts is the task's record of earlier attempts.
type Attempts struct {
	// latest unsuccessful attempts, oldest first; at most MaxAttempts
	Last    []Attempt `json:"attempts,omitempty"`
	Earlier Earlier   `json:"earlier,omitzero"` // counts of the unsuccessful attempts before Last
	// Removed holds the attempt numbers of the steps that a Move removed, by name (P49, move pins another
	// definition). If a later Move adds the step again, its attempts continue from this number (P1, every
	// claim has a new attempt).
	Removed map[string]int `json:"removed,omitempty"`
}

// Start is the last start of the task: the beginning of a run, or a Resubmit.
type Start struct {
	Seq int       `json:"startSeq,omitzero"` // number of the status "started"; 0 if no such status was due
	At  core.Time `json:"startAt,omitzero"`  // time of the start; zero means Task.Created
}

// Reversal is the decision to undo the task.
type Reversal struct {
	Why         Why  `json:"why,omitzero"`
	CancelAsked bool `json:"cancelAsked,omitzero"`
	// Reason is the reason for the undo. It is set only while the undo is stopped in Error. Task.Reason then
	// states why the undo stopped.
	Reason Reason `json:"undoReason,omitzero"`
}

// Reason states why a task is undone, has stopped, or has no output (P19, policy decides about a failed
// step).
type Reason struct {
	Step string `json:"step,omitzero"` // name of the failed step; "" if no step failed
	Code string `json:"code,omitzero"` // short, stable word for programs
	Text string `json:"text,omitzero"` // text for people
}

// End is the end of the task, or its stop in Error. The zero value means that the task runs.
type End struct {
	At  core.Time `json:"endAt,omitzero"`
	Seq int       `json:"endSeq,omitzero"` // number of the final status; 0 if no status is due
	// Command is Commands.Number in the alert about this end. A repeated alert has the same number (P12,
	// effects are emitted again).
	Command int `json:"endCommand,omitzero"`
	// ResendAt is the next time to send the unsettled final status again (P11, an end is reported until
	// settled). It is zero if nothing has to be sent again.
	ResendAt core.Time `json:"resendAt,omitzero"`
}

// Deadline is the time by which the task must be done.
type Deadline struct {
	At core.Time `json:"deadline,omitzero"` // time of the deadline; zero if the task has none
	// number of deadlines set in this run; part of the deadline's cause (P4)
	Seq int `json:"deadlineSeq,omitzero"`
}

// Step is the state of one step of a task.
type Step struct {
	Name  string     `json:"name"`
	State core.State `json:"ProcessState,omitzero"`
	// number of the last claim, of a do or an undo; it is never reset (P1)
	Attempt int   `json:"attempt,omitzero"`
	Claim   Claim `json:",embed"`
	First   First `json:",embed"`
	// time after which the Supervisor handles the step (P9a, a waiting step has two times)
	CompleteBy core.Time `json:"CompleteBy,omitzero"`
	Wait       StepWait  `json:",embed"`
	Late       Late      `json:",embed"`
	Reminded   Reminded  `json:"reminded,omitzero"`
	Stops      Stops     `json:",embed"`
	Failures   Failures  `json:",embed"`
	Finish     Finish    `json:",embed"`
	// EndState is the state of the step at the moment when the task entered Error. A repeated status contains
	// this state (P12). EndState is "" if the state has not changed since then.
	EndState core.State      `json:"endState,omitzero"`
	Output   json.RawMessage `json:"output,omitempty"`
	// NoEffect is the time of the proof that no attempt had an effect (P22a, a proven refusal permits undo).
	// It is zero without such a proof. A new claim or a "done" clears NoEffect.
	NoEffect core.Time  `json:"noEffect,omitzero"`
	Error    *StepError `json:"error,omitzero"`
	// FailureCode is the code of the failure after which the task goes on without the step (P42, orders can
	// go on after failures). It is "" for every other step.
	FailureCode string `json:"failureCode,omitzero"`
	// Withdrawn is the time from which the step is no longer wanted (P53, a step can be withdrawn). It is zero for
	// every other step.
	Withdrawn core.Time `json:"withdrawn,omitzero"`
	// Won holds the members of an Any that have ended well, in the order in which they did.
	Won      []string       `json:"won,omitempty"`
	Resolved *core.Resolved `json:"resolved,omitzero"`
	// Corrected is the input that an operator gave to the step in this run (P51, a call can get another
	// input). It is nil if the definition's input applies.
	Corrected *Corrected `json:"corrected,omitzero"`
	// record of answers; only for a step that waits for an answer
	Answers *Answers `json:"answers,omitzero"`
	// record of child tasks; only for a step that has child tasks
	Children *Children `json:"children,omitzero"`
	// record of answers that are passed on; only for a step that has child tasks
	Passing *Passing                   `json:"passing,omitzero"`
	Unknown map[string]json.RawMessage `json:",embed"`
}

// Claim is the last claim of a step. The end of the claim clears By, Cause, StopBy and Progress.
type Claim struct {
	By string `json:"LockedBy,omitzero"` // instance that made the claim
	// Agent is the agent of the claim. It is "" for the first agent in the definition (P44, several agents
	// can do one step).
	Agent string    `json:"agent,omitzero"`
	Undo  bool      `json:"undo,omitzero"`  // true if the attempt is an undo
	Cause string    `json:"cause,omitzero"` // cause of the claim (P4)
	At    core.Time `json:"claimedAt,omitzero"`
	// time after which no side effect of the attempt begins (P6, two times in each request)
	StopBy core.Time `json:"stopBy,omitzero"`
	// Allowance is the time that the request may wait in the agent's queue (P32, queue time is not a
	// failure). A backlog doubles the allowance. Allowance is 0 once the step is Processed.
	Allowance core.Duration `json:"allowance,omitzero"`
	Progress  *StepProgress `json:"progress,omitzero"` // latest progress report of the attempt
}

// First is the first claim of a step in this run. It is zero if this run has not attempted the step.
type First struct {
	// place in the order of first claims, from 1 (P7, undo covers every attempted step)
	Nth int `json:"nth,omitzero"`
	// time of the first claim; zero until the second claim, see FirstClaim
	At core.Time `json:"firstAt,omitzero"`
}

// StepWait is the state of a waiting step.
type StepWait struct {
	At core.Time `json:"wakeAt,omitzero"` // end of the wait (P9a)
	// Until is the end of the wait, or of the time for an answer, as set by the last claim. It keeps its
	// value after the wait.
	Until core.Time `json:"until,omitzero"`
}

// Late is the deadline of a step in this run (P58, a step has a deadline). It is zero if the step has none.
type Late struct {
	At core.Time `json:"lateAt,omitzero"`
	// number of deadlines set in this run; part of the cause (P4)
	Seq int `json:"lateSeq,omitzero"`
}

// Reminded is the record of a step's reminders in this run, or in this round of a question (P59, a step can have
// reminders).
type Reminded struct {
	N  int       `json:"n,omitzero"`  // number of the newest reminder
	At core.Time `json:"at,omitzero"` // time when the newest reminder was first sent
	// Next is the time at which the Supervisor wakes the Scheduler for the next reminder. It is zero if there is none.
	Next core.Time `json:"next,omitzero"`
	// Moved means that the task was moved, and no reminder followed. A reminder from before a move is not sent again.
	Moved bool `json:"moved,omitzero"`
	// Unsent is the reason why the newest reminder was not sent: its input could not be computed. It has at most
	// MaxNote bytes.
	Unsent string `json:"unsent,omitzero"`
}

// Stops holds the latest stop-by times of the earlier attempts of a step in this run; see Quiet and LastStop.
type Stops struct {
	Do   core.Time `json:"quietBy,omitzero"`
	Undo core.Time `json:"undoStopBy,omitzero"`
}

// Failures counts the failures of a step since the last command that reset the counts.
type Failures struct {
	Do   int `json:"FailureCount,omitzero"`
	Undo int `json:"undoFailures,omitzero"`
	// Queued is the total time of the attempts that were overdue because of a backlog, each up to its completeBy (P32).
	Queued core.Duration `json:"queued,omitzero"`
}

// Finish is the moment when a step became Processed.
type Finish struct {
	At core.Time `json:"finishedAt,omitzero"`
	// number of the status "step finished"; 0 if no such status was due
	Seq   int    `json:"finishSeq,omitzero"`
	Cause string `json:"finishCause,omitzero"` // cause of the status "step finished" (P4)
}

// StepProgress is the last report of an attempt (P43, long work reports progress).
type StepProgress struct {
	Percent int       `json:"percent" doc:"0 to 100"`
	Note    string    `json:"note,omitempty"` // free text, at most MaxNote bytes
	At      core.Time `json:"at" doc:"time when it was stored; at most every 30 s"`
}

// Children is a step's record of its child tasks (P40, a step can have child orders). Its size is bounded for
// any number of children.
type Children struct {
	Count int `json:"count"`
	// Enough is how many children must end well, as the claim has evaluated it; 0 means that Tolerate decides (P54).
	Enough  int         `json:"enough,omitempty"`
	Next    int         `json:"next"`              // index of the child to start next, in this attempt
	Started int         `json:"started,omitempty"` // highest value of Next in this run
	Open    []OpenChild `json:"open,omitempty"`    // children that got a request and have not ended
	// Cursor is used only during an undo. The children with this index and higher ones were asked to undo.
	Cursor int `json:"cursor,omitempty"`
	// Failed counts the children that have failed, without those that were undone because the step is Stopped.
	Failed int `json:"failed,omitempty"`
	// FailedAt lists the indexes of the first failed children, at most maxFailedAt.
	FailedAt []int  `json:"failedAt,omitempty"`
	Reason   string `json:"reason,omitempty"` // reason of the first failure, or the reason for Stopped
	// Stopped means that no more children are started, and that the open children were cancelled.
	Stopped bool `json:"stopped,omitempty"`
	// Results holds the outputs of children in the order in which they arrived.
	Results []Collected `json:"results,omitempty"`
	// Last is the output of the last iteration that ended Processed (P57, a block can be repeated).
	Last json.RawMessage `json:"last,omitempty"`
	// Judge means that an iteration has ended Processed, and that the condition of the Repeat was not evaluated yet.
	Judge bool `json:"judge,omitempty"`
	// Ends lists the ends of the latest iterations, the earliest first, at most MaxEnds. They are for people only.
	Ends   []IterationEnd `json:"ends,omitempty"`
	Rounds int            `json:"rounds,omitempty"` // number of times that all open children were asked again
}

// MaxEnds is the number of ends of iterations that a step keeps.
const MaxEnds = 16

// IterationEnd is the end of an iteration, or of its run after a Resubmit.
type IterationEnd struct {
	Index int             `json:"index"`
	State core.ChildState `json:"state"`
	At    core.Time       `json:"at"`
}

// Passing is a step's record of the answers that it passes on to its children (P56, answers pass through).
type Passing struct {
	// Answers holds the answers that no child has taken, in the order in which they came; at most MaxPassed.
	Answers []core.Passed `json:"answers,omitempty"`
	// Known holds short hashes of the IDs of the latest accepted answers; at most maxKnown.
	Known []string `json:"known,omitempty"`
}

// Collected is the output of a child.
type Collected struct {
	Index  int             `json:"index"`
	Output json.RawMessage `json:"output"`
}

// OpenChild is a child that the step waits for, or a child that can no longer be undone.
type OpenChild struct {
	Index int    `json:"index"`
	Cause string `json:"cause"` // cause of the last request to the child (P4)
	// Ended means that the child is an iteration that has ended before. It is asked without its order (P57).
	Ended bool `json:"ended,omitempty"`
	// State is ChildError if the child has stopped in Error. It is ChildClosed or ChildExpired if the child
	// can no longer be undone.
	State string `json:"state,omitempty"`
}

// Answers is the record of the answers to a step (P35, an answer decides a round; P36, answers may come
// early, late or twice). The step's output holds the decision.
type Answers struct {
	Round int `json:"round"` // number of the current round, from 1
	// Need is the number of people who must give the same value. It is 0 before the claim.
	Need    int      `json:"need,omitempty"`
	Who     []string `json:"who,omitempty"`     // people who may answer; empty means everyone
	NotSelf string   `json:"notSelf,omitempty"` // person who may not answer
	// Refused is the number of rounds since the claim that ended with an answer which the workflow refuses. Only a step
	// with Attempts counts them.
	Refused int `json:"refused,omitempty"`
	// Votes holds the votes of this round in the order of arrival; at most MaxVoters.
	Votes    []Vote    `json:"votes,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"` // latest verdicts on answers of all runs
}

// Vote is the answer of one person.
type Vote struct {
	By    string          `json:"by"`
	Value json.RawMessage `json:"value"`
	At    core.Time       `json:"at"`
	// Passed is the short hash of the ID of an answer that came from the parent (P56). It is "" for every other vote.
	Passed string `json:"passed,omitempty" doc:"short hash of the ID of an answer that the order's parent passed on"`
	// ID is the short hash of the ID of an event for which the step has several attempts. It is "" for every other vote.
	ID string `json:"id,omitempty" doc:"short hash of the ID of an event that may come several times"`
}

// Decided is the output of a step that waited for an answer. An answer came, or the time for an answer ended.
type Decided struct {
	// Value is the value of the answer. It is null if the time ended and the workflow gives no value.
	Value json.RawMessage `json:"value"`
	By    string          `json:"by"` // names, separated by commas; ByTimeout if the time ended
	At    core.Time       `json:"at"`
}

// ByTimeout replaces the person's name if the time for an answer ended.
const ByTimeout = "timeout"

// StepError is the last failure of a step, for people.
type StepError struct {
	Code    string    `json:"code"`    // short, stable word: "timeout", "http-422", "expression" …
	Message string    `json:"message"` // text of at most MaxMessage bytes
	At      core.Time `json:"at"`
	Attempt int       `json:"attempt,omitempty"`
	// Since is the time from which the limit of uncounted failures counts (P45, "not now" is not a failure).
	// It is zero if the failure counts. For the code not-yet, it equals Polling. The other uncounted codes
	// have a limit of their own.
	Since core.Time `json:"since,omitzero"`
	// Polling is the time of the first not-yet reply in the present series of them. It is zero if there is no
	// such series.
	Polling core.Time `json:"polling,omitzero"`
}

// MaxAttempts is the number of unsuccessful attempts that a task keeps.
const MaxAttempts = 16

// Attempt is an unsuccessful attempt of any run, kept for people. It holds no free text, so that its size is
// bounded.
type Attempt struct {
	Step   string `json:"step"`
	Number int    `json:"attempt"` // number of the claim (P1)
	Undo   bool   `json:"undo,omitzero"`
	// agent of the attempt; "" means the first agent of the step in the definition
	Agent   string       `json:"agent,omitzero"`
	Began   core.Time    `json:"began,omitzero"`
	Ended   core.Time    `json:"ended,omitzero"`
	Outcome core.Outcome `json:"outcome"`       // failed, retry-later, overdue or superseded
	Code    string       `json:"code,omitzero"` // code of at most MaxShortCode bytes; "" if superseded
}

// Outcomes of an attempt that ended without a reply.
const (
	OutcomeOverdue core.Outcome = "overdue" // no reply came by the complete-by time
	// OutcomeSuperseded means that the undo of a fenced call was requested before a reply came (P20, what
	// happens next is computed).
	OutcomeSuperseded core.Outcome = "superseded"
)

// Earlier counts the attempts that are no longer in Attempts.Last, by outcome.
type Earlier struct {
	Failed     int `json:"failed,omitempty"`
	Later      int `json:"later,omitempty"`
	Overdue    int `json:"overdue,omitempty"`
	Superseded int `json:"superseded,omitempty"`
}

// Count counts one attempt with the outcome.
func (e *Earlier) Count(o core.Outcome) {
	switch o {
	case core.OutcomeFailed:
		e.Failed++
	case core.OutcomeRetryLater:
		e.Later++
	case OutcomeOverdue:
		e.Overdue++
	case OutcomeSuperseded:
		e.Superseded++
	}
}

// Closing records who closed a task, and why (P48, close ends an order as it stands).
type Closing struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Verdict is the stored response to one command (P5).
type Verdict struct {
	ID string `json:"id"`
	// Command is the name of the command: "cancel", "undo", "resubmit", "resolve", "close", "move", "erase"
	// or "answer".
	Command  string    `json:"command"`
	Accepted bool      `json:"accepted"`
	Reason   string    `json:"reason,omitempty"`
	By       string    `json:"by,omitempty"`   // sender of the command
	Note     string    `json:"note,omitempty"` // reason for the command, in the sender's words
	At       core.Time `json:"at"`
}

// Clone returns a copy of the task with its own list of steps.
func (t *Task) Clone() *Task {
	c := *t
	c.Steps = append([]Step(nil), t.Steps...)
	return &c
}

// Corrected is an input that an operator gave to a call. It replaces the definition's input until the run
// ends (P51).
type Corrected struct {
	Input   json.RawMessage `json:"input,omitempty" doc:"input for its agent instead of the definition's"`
	Command int             `json:"command" doc:"number of the command that gave it"`
	By      string          `json:"by,omitempty" doc:"name of the sender"`
	Reason  string          `json:"reason,omitempty" doc:"reason, for the history"`
	At      core.Time       `json:"at"`
}

// Erasure records who erased the content of an order, when, and why (P52, erase removes content, not
// identity).
type Erasure struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     core.Time `json:"at"`
}

// DropAttempts keeps the latest attempts in Attempts.Last, and counts the removed attempts in
// Attempts.Earlier.
func (t *Task) DropAttempts(keep int) {
	for ; len(t.Attempts.Last) > keep; t.Attempts.Last = t.Attempts.Last[1:] {
		t.Attempts.Earlier.Count(t.Attempts.Last[0].Outcome)
	}
}
