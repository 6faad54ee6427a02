// Package view holds the public JSON form of a task. The HTTP API and the client return this form. The
// command line and the console show it.
//
// Authority: Only this package decides which parts of a stored document are public. It derives the history
// and the waits of an order from the document. Package protocol says which commands a task accepts.
//
// States: A view shows one version of a task, with the definition that the task pins. New versions of this
// package may add fields. They never remove or rename a field.
//
// Failures: Without the definition, the fields that depend on it are empty. An input that cannot be
// evaluated is absent, and the step's error states the reason. A document that cannot be read is listed as
// damaged, with the data that the store keeps beside the document.
package view

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Task is the public form of an order's task.
type Task struct {
	OrderID    string       `json:"orderId"`
	Version    int64        `json:"version" doc:"version of the stored document; it grows with each change"`
	Workflow   string       `json:"workflow,omitempty" doc:"absent if a cancel came before the order"`
	Definition string       `json:"definition,omitempty" doc:"hash of the definition that the order runs"`
	Deployed   string       `json:"deployed,omitempty" doc:"hash of the definition that new orders get, if it is another one; absent if it is not known"`
	State      core.State   `json:"state" enum:"Processing,Compensating,Processed,Compensated,Cancelled,Closed,Error"`
	Phase      core.Phase   `json:"phase,omitempty" enum:"forward,undo" doc:"direction in which the order was going when it stopped in Error"`
	Why        protocol.Why `json:"why,omitempty" enum:"failure,cancel,operator,deadline,parent" doc:"why the order is undone"`
	Ended      bool         `json:"ended" doc:"true if nothing more happens without a command"`
	Run        int          `json:"run" doc:"number of times that the order was started again from the beginning"`
	Command    int          `json:"command" doc:"number to send back with undo, resubmit, resolve, close and erase"`
	Priority   string       `json:"priority,omitempty"`
	ReplyTo    string       `json:"replyTo,omitempty" doc:"logical name of the queue or bus that gets the status messages"`
	Statuses   int          `json:"statuses,omitempty" doc:"number of numbered status messages sent so far"`
	// Undelivered lists the receivers that could not get statuses of the order.
	Undelivered []Undelivered      `json:"undelivered,omitempty" doc:"receivers that could not get statuses of the order; the order goes on without them"`
	Reported    bool               `json:"reported,omitempty" doc:"true for an order that has ended and whose final status, alert and message to its parent were sent, if it has them"`
	Parent      *Parent            `json:"parent,omitempty" doc:"step that a child order belongs to"`
	CancelSeen  bool               `json:"cancelAsked,omitempty" doc:"true if the caller asked to cancel the order"`
	Created     core.Time          `json:"created"`
	EndedAt     core.Time          `json:"endedAt,omitzero" doc:"time when the order entered its present end, or Error"`
	Deadline    core.Time          `json:"deadline,omitzero"`
	Output      json.RawMessage    `json:"output,omitempty" doc:"output of the workflow, for a Processed order"`
	Error       *TaskError         `json:"error,omitempty" doc:"why the order stopped, was undone, or has no output"`
	UndoneFor   *TaskError         `json:"undoneFor,omitempty" doc:"why the order was undone, if error says why it, or its undo, stopped"`
	Waits       []Wait             `json:"waits,omitempty" nullable:"false" doc:"what the order's steps wait for now"`
	UndoWait    *UndoWait          `json:"undoWait,omitempty" doc:"what the undo of the order waits for; absent if the order is not being undone"`
	Closed      *protocol.Closing  `json:"closed,omitempty" doc:"who closed the order as it stood, and why; for a Closed order"`
	Erased      *protocol.Erasure  `json:"erased,omitempty" doc:"who erased the order's content, inputs, outputs and notes, why and when"`
	Steps       []Step             `json:"steps" nullable:"false" doc:"steps in the order of the definition"`
	Verdicts    []protocol.Verdict `json:"verdicts,omitempty" nullable:"false" doc:"verdicts on the last commands, oldest first"`
	Attempts    []Attempt          `json:"attempts,omitempty" nullable:"false" doc:"last 16 attempts that did not end with the outcome done, in all runs, oldest first"`
	Earlier     *Earlier           `json:"earlierAttempts,omitempty" doc:"number of such attempts before those"`
	Unattended  []Unattended       `json:"unattended,omitempty" nullable:"false" doc:"queues without a consumer that steps in flight wait for"`
	Unchecked   string             `json:"unchecked,omitempty" doc:"why it is not known for each queue that steps in flight wait for whether it has a consumer; for a stack on AWS"`
	Damaged     string             `json:"damaged,omitempty" doc:"why the stored order cannot be read; the other members are what can still be read, and only close is accepted"`
	History     []Entry            `json:"history,omitempty" nullable:"false" doc:"past of the order as far as the stored document keeps it, and its plans, earliest first; present in events, and if a single order was requested without waiting"`
	Accepts     []Command          `json:"accepts,omitempty" nullable:"false" doc:"commands that would be accepted now, except erase; absent if the request waited"`

	AcceptsLater []LaterCommand `json:"acceptsLater,omitempty" nullable:"false" doc:"commands that would be accepted later, once no call can take effect any more"`
}

// TaskError states why a task ended as it did.
type TaskError struct {
	Code    string `json:"code,omitempty" doc:"short, stable word for programs"`
	Message string `json:"message"`
	Step    string `json:"step,omitempty" doc:"step that failed"`
}

// Step is one step of a task.
type Step struct {
	Name       string                 `json:"name"`
	State      core.State             `json:"state" enum:"Pending,Skipped,Processing,Processed,Waiting,Settling,Failed,UndoWait,Compensating,Compensated"`
	Kind       string                 `json:"kind,omitempty" enum:"wait,approval,event,fail,each,workflow,block,any" doc:"absent if the step calls an agent"`
	Agent      string                 `json:"agent,omitempty"`
	Operation  string                 `json:"operation,omitempty"`
	Grade      core.Grade             `json:"grade,omitempty" enum:"fenced,idempotent,plain"`
	After      []string               `json:"after,omitempty" nullable:"false"`
	NoReturn   bool                   `json:"pointOfNoReturn,omitempty"`
	When       string                 `json:"when,omitempty" doc:"condition of the step; only in a definition"`
	Timeout    core.Duration          `json:"timeout,omitzero" doc:"time for one attempt, or for an answer, in milliseconds; only in a definition"`
	OnFailure  core.Policy            `json:"onFailure,omitempty" enum:"undo,stop,continue" doc:"what happens when the step fails for good; only in a definition"`
	Attempts   int                    `json:"attempts" doc:"number of claims so far, do and undo together"`
	Failures   int                    `json:"failures" doc:"number of times that the do has failed or timed out since the last command"`
	LockedBy   string                 `json:"lockedBy,omitempty" doc:"instance that claimed the step"`
	FirstAt    core.Time              `json:"firstAt,omitzero" doc:"time of the first claim in this run"`
	ClaimedAt  core.Time              `json:"claimedAt,omitzero" doc:"time of the present or last claim"`
	CompleteBy core.Time              `json:"completeBy,omitzero" doc:"time at which the Supervisor looks at the step"`
	StopBy     core.Time              `json:"stopBy,omitzero" doc:"latest time at which a side effect of the present attempt can begin"`
	LateAt     core.Time              `json:"lateAt,omitzero" doc:"time by which the step must have ended, while it goes forward"`
	OnDeadline core.Policy            `json:"onDeadline,omitempty" enum:"undo,stop,continue" doc:"what happens then"`
	Reminders  *Reminders             `json:"reminders,omitempty" doc:"reminders so far; for a step that has some"`
	WakeAt     core.Time              `json:"wakeAt,omitzero" doc:"time until which the step waits"`
	FinishedAt core.Time              `json:"finishedAt,omitzero" doc:"time when the step became Processed"`
	Input      json.RawMessage        `json:"input,omitempty" doc:"input that the agent gets, once the step was attempted; present if a single order was requested without waiting; absent if the order was undone and then moved"`
	Output     json.RawMessage        `json:"output,omitempty"`
	Error      *protocol.StepError    `json:"error,omitempty" doc:"last failure of the step"`
	FailedAs   string                 `json:"failedAs,omitempty" doc:"code of the failure after which the step is undone alone and the order goes on without it (onFailure: continue)"`
	Withdrawn  core.Time              `json:"withdrawn,omitzero" doc:"time since which the step is no longer wanted, because the step that it serves has ended; it is undone alone"`
	Undo       *Undo                  `json:"undo,omitempty" doc:"absent if the step has no undo"`
	NoEffect   core.Time              `json:"noEffect,omitzero" doc:"time since which it is proven that no attempt has had an effect: a point of no return was refused, or an operator stated it"`
	Resolved   *core.Resolved         `json:"resolved,omitempty" doc:"fact that an operator stated"`
	Corrected  *protocol.Corrected    `json:"corrected,omitempty" doc:"input that an operator gave the step in this run, instead of the definition's"`
	Answers    *Answers               `json:"answers,omitempty" doc:"answers so far; for an approval or an event"`
	Progress   *protocol.StepProgress `json:"progress,omitempty" doc:"last progress that the attempt in flight reported; for a step with a maxDuration"`
	Children   *Children              `json:"children,omitempty" doc:"child orders so far; for a step that has child orders"`
	Any        *Any                   `json:"any,omitempty" doc:"members, and which of them have decided; for a step with any"`
}

// Reminders is the state of the reminders of a step, in this run or in this round of a question.
type Reminders struct {
	Sent   int       `json:"sent" doc:"number of the newest reminder; those that were missed count too"`
	AtMost int       `json:"atMost,omitempty" doc:"how many there are at most; absent if there is no limit"`
	Next   core.Time `json:"next,omitzero" doc:"time of the next one, while the step goes forward"`
	Unsent string    `json:"unsent,omitempty" doc:"why the newest one was not sent"`
}

// Any is the state of a step that ends when the first of its members have ended.
type Any struct {
	Members []string `json:"members" nullable:"false" doc:"names of the members; the member M of the step S is the step S-M"`
	Enough  int      `json:"enough" doc:"number of members that must end well"`
	Won     []string `json:"won,omitempty" nullable:"false" doc:"members that have ended well, in the order in which they did"`
}

// Kinds of steps that call no agent.
const (
	KindWait     = "wait"     // a wait that ends at a time
	KindApproval = "approval" // an approval by people
	KindEvent    = "event"    // an event from outside
	KindFail     = "fail"     // a failure by a rule
	KindEach     = "each"     // child tasks, one for each element of a list
	KindWorkflow = "workflow" // a single child task
	KindBlock    = "block"    // a single child task of a block
	KindAny      = "any"      // the first of several steps
)

// Answers is the state of a step that is answered from outside. The decision is the step's output.
type Answers struct {
	Event   string   `json:"event,omitempty" doc:"name of the event"`
	Values  []string `json:"values,omitempty" nullable:"false" doc:"values that an approval may be answered with"`
	Round   int      `json:"round" doc:"number of the round, from 1; an answer names it"`
	Need    int      `json:"need,omitempty" doc:"number of people who must give the same value; absent before the step is reached"`
	Who     []string `json:"who,omitempty" nullable:"false" doc:"people who may answer; absent if everyone may"`
	NotSelf string   `json:"notSelf,omitempty" doc:"person who may not answer"`
	// Attempts and Refused say how many answers may decide the step, and how many were refused.
	Attempts int             `json:"attempts,omitempty" doc:"how many answers may decide the step; absent if only one"`
	Refused  int             `json:"refused,omitempty" doc:"how many of the attempts were refused since the step began"`
	Votes    []protocol.Vote `json:"votes,omitempty" nullable:"false" doc:"answers of this round, in the order in which they came"`
	// Reasoned lists the latest accepted answers that gave a reason, of all rounds and runs.
	Reasoned []protocol.Verdict `json:"reasoned,omitempty" nullable:"false" doc:"last accepted answers that gave a reason, each with its person, and the reason as note"`
}

func answersOf(s *protocol.Step, def *core.Answer) *Answers {
	v := &Answers{Event: def.Event, Values: def.Values, Round: 1, Attempts: def.Attempts}
	if a := s.Answers; a != nil {
		v.Round = max(1, a.Round)
		v.Need = a.Need
		v.Who = a.Who
		v.NotSelf = a.NotSelf
		v.Refused = a.Refused
		v.Votes = a.Votes
		for _, r := range a.Verdicts {
			if r.Accepted && r.Note != "" {
				v.Reasoned = append(v.Reasoned, r)
			}
		}
	}
	return v
}

// Waiting reports whether the step waits after a hand-back that did not count as a failure (P45, "not now" is
// not a failure). Either the step's agent cannot call the service, or the service answers not-yet. The field
// Error states the cause, and the beginning of the wait.
func (s *Step) Waiting() bool { return s.Error != nil && s.Error.Since != 0 }

// Step returns the step with the name, or nil if the task has no such step.
func (t *Task) Step(name string) *Step {
	i := slices.IndexFunc(t.Steps, func(s Step) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Steps[i]
}

// Undo describes the undo of a step.
type Undo struct {
	Operation string    `json:"operation,omitempty"`
	Running   bool      `json:"running,omitempty" doc:"true if the present attempt is an undo"`
	Failures  int       `json:"failures"`
	QuietBy   core.Time `json:"quietBy,omitzero" doc:"earliest time at which the undo of a service without a fence begins"`
}

// Summary is a task in a listing.
type Summary struct {
	OrderID    string     `json:"orderId"`
	Workflow   string     `json:"workflow,omitempty"`
	Definition string     `json:"definition,omitempty" doc:"hash of the definition that the order runs"`
	State      core.State `json:"state" enum:"Processing,Compensating,Processed,Compensated,Cancelled,Closed,Error"`
	Phase      core.Phase `json:"phase,omitempty" enum:"forward,undo"`
	Ended      bool       `json:"ended"`
	Run        int        `json:"run"`
	Command    int        `json:"command"`
	Created    core.Time  `json:"created"`
	EndedAt    core.Time  `json:"endedAt,omitzero"`
	Error      *TaskError `json:"error,omitempty"`
	Waits      []Wait     `json:"waits,omitempty" nullable:"false" doc:"first 8 things that the order's steps wait for now"`
	LateAt     core.Time  `json:"lateAt,omitzero" doc:"earliest deadline of the order, or of one of its steps, while they go forward; absent if there is none"`
	Damaged    string     `json:"damaged,omitempty" doc:"why the stored document cannot be read, and what to do; only the ID, workflow, state and creation time are known then"`
}

// Wait describes what a step of an order waits for.
type Wait struct {
	Step  string    `json:"step"`
	For   string    `json:"for" enum:"agent,retry,time,answer,children,undo" doc:"agent: a reply; retry: the next attempt; time: the end of a wait; answer: an answer or event; children: the ends of child orders; undo: the reply to an undo, or its next attempt"`
	Agent string    `json:"agent,omitempty" doc:"agent that was chosen from several; absent if the definition names one"`
	Since core.Time `json:"since,omitzero" doc:"time of the last claim"`
	Until core.Time `json:"until,omitzero" doc:"latest time at which the wait ends, or the Supervisor looks at it"`
}

// Values of Wait.For.
const (
	WaitAgent    = "agent"
	WaitRetry    = "retry"
	WaitTime     = "time"
	WaitAnswer   = "answer"
	WaitChildren = "children"
	WaitUndo     = "undo"
)

const maxWaits = 8

// waitsOf returns what the steps of a task wait for, the first of them.
func waitsOf(t *protocol.Task, most int) (all []Wait) {
	if Ended(t) {
		return nil
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		w := Wait{Step: s.Name, Agent: s.Claim.Agent, Since: s.Claim.At, Until: s.CompleteBy}
		switch {
		case s.State == core.Compensating || s.State == core.UndoWait || s.State == core.Waiting && s.Claim.Undo:
			w.For = WaitUndo
			w.Until = cmp.Or(s.Wait.At, s.CompleteBy)
		case s.State == core.Waiting && s.Children.Pauses(s):
			w.For = WaitTime
			w.Until = s.Wait.Until
		case s.Children != nil &&
			(s.State == core.Processing || s.State == core.Waiting || s.State == core.Settling):
			w.For = WaitChildren
		case s.State == core.Processing:
			w.For = WaitAgent
		case s.State == core.Waiting && s.Answers != nil:
			w.For = WaitAnswer
		case s.State == core.Waiting && s.Wait.At == 0: // its members wait
			continue
		case s.State == core.Waiting:
			w.For = WaitTime
			w.Until = s.Wait.At
		case s.State == core.Pending && s.Wait.At != 0:
			w.For = WaitRetry
			w.Until = s.Wait.At
		default:
			continue
		}
		all = append(all, w)
		if len(all) == most {
			break
		}
	}
	return all
}

// Page is one page of a listing, newest first.
type Page struct {
	Orders []Summary `json:"orders" nullable:"false"`
	Next   string    `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
}

// Ended reports whether a task is Processed, Compensated, Cancelled, Closed, or in Error with nothing in
// flight. A damaged task waits for an operator too.
func Ended(t *protocol.Task) bool {
	return t.Terminal() || t.ProcessState == core.Error && !t.InFlight() || t.Damaged != ""
}

// Of returns the view of a task. def is the definition that the task pins. If def is nil, the fields that
// depend on the definition are empty.
func Of(t *protocol.Task, def *core.Definition) Task {
	v := Task{
		OrderID: t.OrderID, Version: t.Version, Workflow: t.Workflow, Definition: t.Definition,
		State: t.ProcessState, Phase: t.Phase, Why: t.Undo.Why, Ended: Ended(t),
		Run: t.Run, Command: t.Commands.Number, Priority: t.Priority, ReplyTo: t.ReplyTo,
		Statuses:   t.StatusSeq,
		Reported:   t.End.At != 0 && t.ResendTime() == 0,
		CancelSeen: t.Undo.CancelAsked, Parent: parentOf(t), Created: t.Created, EndedAt: t.End.At,
		Deadline: t.Deadline.At,
		Output:   t.Output, Error: errorOf(t.Reason),
		UndoneFor: undoneFor(t), UndoWait: undoWaitOf(t, def), Closed: t.Closing, Erased: t.Erased,
		Verdicts: t.Commands.Verdicts, Damaged: t.Damaged, Waits: waitsOf(t, len(t.Steps)),
		Steps: make([]Step, len(t.Steps)),
	}
	for _, u := range t.Undelivered {
		v.Undelivered = append(v.Undelivered, Undelivered(u))
	}
	v.Attempts, v.Earlier = attemptsOf(t, def)
	for i := range t.Steps {
		d := definitionOf(def, t.Steps[i].Name)
		v.Steps[i] = stepOf(&t.Steps[i], d)
		v.Steps[i].Output = t.OutputOf(&t.Steps[i])
		if d != nil && d.Each != nil {
			v.Steps[i].Children = childrenOf(t, &t.Steps[i], d.Each)
		}
	}
	return v
}

// Undelivered is a receiver that could not get statuses of an order.
type Undelivered struct {
	ReplyTo  string    `json:"replyTo" doc:"logical name of the queue or bus"`
	First    int       `json:"first" doc:"number of the first status that it may not have got"`
	Reason   string    `json:"reason" doc:"why the status could not be sent"`
	Since    core.Time `json:"since" doc:"time when it could not be sent for the first time"`
	ResendAt core.Time `json:"resendAt,omitzero" doc:"time at which the statuses are sent again; absent once they are given up, after 14 days"`
}

// WorkflowInfo describes a workflow that orders can name.
type WorkflowInfo struct {
	Name string `json:"name"`
	// Hash is the hash of the definition that new orders get. It is "" if no version was ever valid.
	Hash string `json:"hash,omitempty"`
	// Problems lists the problems of a newer file that was refused. The previous version stays in use.
	Problems []string `json:"problems,omitempty"`
}

// Definition is the public form of a workflow's definition.
type Definition struct {
	Workflow string          `json:"workflow"`
	Hash     string          `json:"hash"`
	Steps    []Step          `json:"steps" nullable:"false" doc:"steps as in an order that has just come"`
	Schema   json.RawMessage `json:"orderSchema,omitempty" doc:"JSON Schema of the orders; absent if any order is allowed"`
}

// DefinitionOf returns the view of a definition.
func DefinitionOf(def *core.Definition) Definition {
	v := Definition{
		Workflow: def.Name, Hash: def.Hash, Steps: make([]Step, len(def.Steps)),
		Schema: def.Order,
	}
	for i := range def.Steps {
		d := &def.Steps[i]
		v.Steps[i] = stepOf(&protocol.Step{Name: d.Name, State: core.Pending}, d)
		v.Steps[i].When = d.When
		v.Steps[i].Timeout = d.Timeout
		v.Steps[i].OnFailure = d.OnFailure
	}
	return v
}

// SummaryOf returns a task as an element of a listing.
func SummaryOf(t *protocol.Task) Summary {
	return Summary{
		OrderID: t.OrderID, Workflow: t.Workflow, Definition: t.Definition, State: t.ProcessState,
		Phase: t.Phase,
		Ended: Ended(t), Run: t.Run, Command: t.Commands.Number,
		Created: t.Created, EndedAt: t.End.At,
		Error: errorOf(t.Reason), Waits: waitsOf(t, maxWaits), LateAt: lateAt(t), Damaged: t.Damaged,
	}
}

func lateAt(t *protocol.Task) core.Time {
	if t.ProcessState != core.Processing {
		return 0
	}
	earliest := t.Deadline.At
	for i := range t.Steps {
		at := t.Steps[i].LateAt()
		if at != 0 && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	return earliest
}

// Listed returns a stored record as an element of a listing. If the document cannot be read, the element has
// the field Damaged, and the data that the store keeps beside the document.
func Listed(r *port.Record) Summary {
	t, err := state.TaskOf(r)
	if err != nil {
		return Summary{
			OrderID: r.ID, Workflow: r.Workflow, State: core.State(r.State), Created: core.TimeOf(r.Created),
			Damaged: err.Error(),
		}
	}
	s := SummaryOf(t)
	if r.Bucket == port.DamagedBucket && s.Damaged == "" {
		s.Damaged = "it does not fit its definition, or the definition cannot be read"
	}
	return s
}

func definitionOf(def *core.Definition, step string) *core.StepDefinition {
	if def == nil {
		return nil
	}
	if i := def.Index(step); i >= 0 {
		return &def.Steps[i]
	}
	return nil
}

func errorOf(b protocol.Reason) *TaskError {
	if b.Code == "" && b.Text == "" {
		return nil
	}
	return &TaskError{Code: b.Code, Message: b.Text, Step: b.Step}
}

func stepOf(s *protocol.Step, def *core.StepDefinition) Step {
	v := Step{
		Name: s.Name, State: s.State, Attempts: s.Attempt, Failures: s.Failures.Do,
		LockedBy: s.Claim.By, FirstAt: s.FirstClaim(), ClaimedAt: s.Claim.At, CompleteBy: s.CompleteBy,
		StopBy: s.Claim.StopBy, WakeAt: s.Wait.At, LateAt: s.LateAt(), FinishedAt: s.Finish.At,
		Output: s.Output, Error: s.Error, FailedAs: s.FailureCode, Withdrawn: s.Withdrawn, NoEffect: s.NoEffect,
		Resolved: s.Resolved, Corrected: s.Corrected, Progress: s.Claim.Progress,
	}
	undo := Undo{Running: s.Claim.Undo, Failures: s.Failures.Undo, QuietBy: s.Quiet()}
	if def != nil {
		v.Agent = s.AskedAgent(def)
		v.Operation = def.Operation
		v.Grade = def.Grade
		v.NoReturn = def.PointOfNoReturn
		v.After = def.After
		v.OnDeadline = def.OnDeadline
		if m := def.Remind; m != nil && s.Attempted() {
			v.Reminders = &Reminders{
				Sent: s.Reminded.N, AtMost: m.AtMost, Next: s.NextReminder(def),
				Unsent: s.Reminded.Unsent,
			}
		}
		switch kind := def.Kind(); {
		case def.Answer != nil:
			v.Kind = KindApproval
			v.Answers = answersOf(s, def.Answer)
			if def.Answer.Event != "" {
				v.Kind = KindEvent
			}
		case def.Each != nil && def.Input == nil:
			v.Kind = KindWorkflow
			if def.Each.Block() {
				v.Kind = KindBlock
			}
		case def.Any != nil:
			v.Kind = KindAny
			v.Any = &Any{Members: def.Any.Members, Enough: def.Any.Enough, Won: s.Won}
		case kind != core.KindCall:
			v.Kind = string(kind)
		}
		if def.Undo == nil {
			return v
		}
		undo.Operation = def.Undo.Operation
		if def.Grade == core.Fenced {
			undo.QuietBy = 0 // the undo of a fenced step does not wait for quiet
		}
	}
	v.Undo = &undo
	return v
}
