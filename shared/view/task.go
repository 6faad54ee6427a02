// Package view is the public JSON shape of a task: what the HTTP edge answers, the client returns, and
// command line and console show.
//
// Authority: it alone decides what of a stored document is public, and derives what that does not say itself:
// the timeline, the messages, what an order waits for. Which commands a task accepts is asked of package
// core, in a decision that is not stored. It writes nothing.
//
// States: a view is of one version of a task and of the definition that the task pins. Fields are only ever
// added.
//
// Failures: without the definition, what only that knows is left out; an input that cannot be evaluated is
// left out, since the step's error says why; a document that cannot be read is listed as damaged, with what
// the store itself knows of it.
package view

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Task is one order's run of a workflow.
type Task struct {
	OrderID    string          `json:"orderId"`
	Version    int64           `json:"version" doc:"of the stored document; grows with each change"`
	Workflow   string          `json:"workflow,omitempty" doc:"absent where a cancel came before the order"`
	Definition string          `json:"definition,omitempty" doc:"hash of the definition that the task runs"`
	Deployed   string          `json:"deployed,omitempty" doc:"hash of the definition that new orders get, where it is another one; absent where that is not known"`
	State      core.State      `json:"state" enum:"Processing,Compensating,Processed,Compensated,Cancelled,Closed,Error"`
	Phase      core.Phase      `json:"phase,omitempty" enum:"forward,undo" doc:"in Error: the direction in which it was going"`
	Why        core.Why        `json:"why,omitempty" enum:"failure,cancel,operator,deadline,parent" doc:"why it is undone"`
	Ended      bool            `json:"ended" doc:"nothing more happens without a command"`
	Run        int             `json:"run" doc:"how often it was started from the beginning, from 0"`
	Command    int             `json:"command" doc:"number to send back with undo, resubmit, resolve, close and erase"`
	Priority   string          `json:"priority,omitempty"`
	ReplyTo    string          `json:"replyTo,omitempty" doc:"logical name of the queue that gets the status messages"`
	Statuses   int             `json:"statuses,omitempty" doc:"how many numbered status messages it has sent"`
	Reported   bool            `json:"reported,omitempty" doc:"of an end: its final status, its alert and the message to its parent, as far as it has them, were sent"`
	Parent     *Parent         `json:"parent,omitempty" doc:"of a child: the step that it belongs to"`
	CancelSeen bool            `json:"cancelAsked,omitempty" doc:"the caller asked to cancel it"`
	Created    core.Time       `json:"created"`
	EndedAt    core.Time       `json:"endedAt,omitzero" doc:"when it entered its present end, or Error"`
	Deadline   core.Time       `json:"deadline,omitzero"`
	Output     json.RawMessage `json:"output,omitempty" doc:"the workflow's output, of a Processed task"`
	Error      *TaskError      `json:"error,omitempty" doc:"why it stopped, was undone, or has no output"`
	UndoneFor  *TaskError      `json:"undoneFor,omitempty" doc:"why it was undone, where error says why its undo has stopped"`
	UndoWait   *UndoWait       `json:"undoWait,omitempty" doc:"of an order that is being undone: what that waits for"`
	Closed     *core.Closing   `json:"closed,omitempty" doc:"of a Closed task: who ended it as it stood, and why"`
	Erased     *core.Erasure   `json:"erased,omitempty" doc:"who erased its content, inputs, outputs and notes, why and when"`
	Steps      []Step          `json:"steps" nullable:"false" doc:"in the order of the definition"`
	Verdicts   []core.Verdict  `json:"verdicts,omitempty" nullable:"false" doc:"answers to the last commands, oldest first"`
	Attempts   []Attempt       `json:"attempts,omitempty" nullable:"false" doc:"the last 16 that did not end done, oldest first, of all runs"`
	Earlier    *Earlier        `json:"earlierAttempts,omitempty" doc:"how many did not end done before those"`
	Unattended []Unattended    `json:"unattended,omitempty" nullable:"false" doc:"queues of requests that its steps in flight wait for and nothing takes from"`
	Unchecked  string          `json:"unchecked,omitempty" doc:"of a stack on AWS: why it is not known of all queues that its steps in flight wait for whether something takes from them"`
	ItemBytes  int             `json:"itemBytes,omitempty" doc:"of a stack on AWS, where a single order was asked for: how large DynamoDB counts its item"`
	Messages   []Message       `json:"messages,omitempty" nullable:"false" doc:"what it has received and sent, as far as the document has it, earliest first; only where a single order was asked for, without waiting"`
	Accepts    []Command       `json:"accepts,omitempty" nullable:"false" doc:"commands that would be accepted now, but erase; absent also where the answer was waited for"`

	AcceptsLater []LaterCommand `json:"acceptsLater,omitempty" nullable:"false" doc:"commands that would be accepted from a time on, when no call can take effect any more"`
}

// TaskError says why a task ended as it did.
type TaskError struct {
	Code    string `json:"code,omitempty" doc:"a short, stable word"`
	Message string `json:"message"`
	Step    string `json:"step,omitempty" doc:"the step that failed"`
}

// Step is one step of a task.
type Step struct {
	Name       string             `json:"name"`
	State      core.State         `json:"state" enum:"Pending,Skipped,Processing,Processed,Waiting,Failed,UndoWait,Compensating,Compensated"`
	Kind       string             `json:"kind,omitempty" enum:"wait,approval,event,fail,each,workflow" doc:"absent where an agent is called"`
	Agent      string             `json:"agent,omitempty"`
	Operation  string             `json:"operation,omitempty"`
	Grade      core.Grade         `json:"grade,omitempty" enum:"fenced,idempotent,plain"`
	After      []string           `json:"after,omitempty" nullable:"false"`
	NoReturn   bool               `json:"pointOfNoReturn,omitempty"`
	Attempts   int                `json:"attempts" doc:"claims so far, do and undo together"`
	Failures   int                `json:"failures" doc:"how often the do has failed or timed out since the last command"`
	LockedBy   string             `json:"lockedBy,omitempty" doc:"the instance that claimed it"`
	FirstAt    core.Time          `json:"firstAt,omitzero" doc:"first claim in this run"`
	ClaimedAt  core.Time          `json:"claimedAt,omitzero" doc:"the present or last claim"`
	CompleteBy core.Time          `json:"completeBy,omitzero" doc:"when the Supervisor looks at it"`
	StopBy     core.Time          `json:"stopBy,omitzero" doc:"no side effect of the present attempt begins later"`
	WakeAt     core.Time          `json:"wakeAt,omitzero" doc:"it waits until then"`
	FinishedAt core.Time          `json:"finishedAt,omitzero" doc:"when it became Processed"`
	Input      json.RawMessage    `json:"input,omitempty" doc:"what its agent is given, once it was attempted; only where a single order was asked for, without waiting; absent if the order was undone and then moved"`
	Output     json.RawMessage    `json:"output,omitempty"`
	Error      *core.StepError    `json:"error,omitempty" doc:"the last failure"`
	FailedAs   string             `json:"failedAs,omitempty" doc:"code of the failure after which the step is undone alone and the order goes on without it (onFailure: continue)"`
	Undo       *Undo              `json:"undo,omitempty" doc:"absent where the step has none"`
	NoEffect   core.Time          `json:"noEffect,omitzero" doc:"since when it is proven that no attempt has had an effect: by its refusal (of a point of no return), or by what an operator stated"`
	Resolved   *core.Resolved     `json:"resolved,omitempty" doc:"what an operator stated"`
	Corrected  *core.Corrected    `json:"corrected,omitempty" doc:"the input that an operator has given it in this run, in place of the definition's"`
	Answers    *Answers           `json:"answers,omitempty" doc:"of a step that is answered from outside"`
	Progress   *core.StepProgress `json:"progress,omitempty" doc:"what the attempt in flight reported last, of a step with a maxDuration"`
	Children   *Children          `json:"children,omitempty" doc:"of a step of child tasks"`
}

// Kinds of steps that call no agent.
const (
	KindWait     = "wait"     // it ends at a time
	KindApproval = "approval" // it ends with an answer of people
	KindEvent    = "event"    // it ends with an event from outside
	KindFail     = "fail"     // it fails by rule
	KindEach     = "each"     // it ends with child tasks, one for each item of a list
	KindWorkflow = "workflow" // it ends with one child task
)

// Answers is how a step that is answered from outside stands. What was decided is the step's output.
type Answers struct {
	Event    string      `json:"event,omitempty" doc:"name of the event"`
	Values   []string    `json:"values,omitempty" nullable:"false" doc:"what an approval may be answered with"`
	Round    int         `json:"round" doc:"from 1; an answer names it"`
	Need     int         `json:"need,omitempty" doc:"how many people must give the same value; absent before the step is reached"`
	Who      []string    `json:"who,omitempty" nullable:"false" doc:"who may answer; absent: everyone"`
	NotSelf  string      `json:"notSelf,omitempty" doc:"who may not answer"`
	Reminded int         `json:"reminded,omitempty" doc:"number of the newest reminder of this round"`
	Votes    []core.Vote `json:"votes,omitempty" nullable:"false" doc:"answers of this round, in the order in which they came"`
	// Reasoned are the last accepted answers that said why, also of earlier rounds and runs.
	Reasoned []core.Verdict `json:"reasoned,omitempty" nullable:"false" doc:"the last answers that were accepted and gave a reason: by whom, and the reason as note"`
	// Uncounted are answers that came before the step began, of people who may not answer it: until then that
	// was not known.
	Uncounted []core.Verdict `json:"uncounted,omitempty" nullable:"false" doc:"answers that came before the step began and do not count: of whom, and why"`
}

func answersOf(s *core.Step, def *core.Answer) *Answers {
	v := &Answers{Event: def.Event, Values: def.Values, Round: 1}
	if a := s.Answers; a != nil {
		v.Round = max(1, a.Round)
		v.Need = a.Need
		v.Who = a.Who
		v.NotSelf = a.NotSelf
		v.Reminded = a.Reminded
		v.Votes = a.Votes
		for _, r := range a.Verdicts {
			if r.Accepted && r.Note != "" {
				v.Reasoned = append(v.Reasoned, r)
			}
			if r.ID == "" {
				v.Uncounted = append(v.Uncounted, r)
			}
		}
	}
	return v
}

// Waiting reports a step that waits, uncounted, for its agent to call its service, or polls one that answers
// not-yet (P45): Error says which, and since when.
func (s *Step) Waiting() bool { return s.Error != nil && s.Error.Since != 0 }

// Attempt is one that did not end done.
type Attempt struct {
	Step      string         `json:"step"`
	Number    int            `json:"attempt"`
	Operation core.Operation `json:"operation" enum:"do,undo"`
	Agent     string         `json:"agent"`
	Began     core.Time      `json:"began"`
	Ended     core.Time      `json:"ended" doc:"when its end was counted"`
	Outcome   core.Outcome   `json:"outcome" enum:"failed,retry-later,overdue,superseded" doc:"overdue: no reply in time; superseded: undone before a reply came"`
	Code      string         `json:"code,omitempty" doc:"a short, stable word"`
}

// Earlier counts attempts that did not end done and are not listed any more.
type Earlier struct {
	Failed     int `json:"failed,omitempty"`
	RetryLater int `json:"retryLater,omitempty"`
	Overdue    int `json:"overdue,omitempty"`
	Superseded int `json:"superseded,omitempty"`
}

func attemptsOf(t *core.Task, def *core.Definition) (list []Attempt, earlier *Earlier) {
	for _, a := range t.Attempts.Last {
		v := Attempt{Step: a.Step, Number: a.Number, Operation: core.Do, Agent: a.Agent, Began: a.Began,
			Ended: a.Ended, Outcome: a.Outcome, Code: a.Code}
		if d := definitionOf(def, a.Step); v.Agent == "" && d != nil {
			v.Agent = d.Agent
		}
		if a.Undo {
			v.Operation = core.UndoOp
		}
		list = append(list, v)
	}
	if e := t.Attempts.Earlier; e != (core.Earlier{}) {
		earlier = &Earlier{Failed: e.Failed, RetryLater: e.Later, Overdue: e.Overdue,
			Superseded: e.Superseded}
	}
	return list, earlier
}

// Undo is the undo part of a step.
type Undo struct {
	Operation string    `json:"operation,omitempty"`
	Running   bool      `json:"running,omitempty" doc:"the present attempt is an undo"`
	Failures  int       `json:"failures"`
	QuietBy   core.Time `json:"quietBy,omitzero" doc:"before that time the undo of a service without fence does not begin"`
}

// Summary is a task in a listing.
type Summary struct {
	OrderID    string     `json:"orderId"`
	Workflow   string     `json:"workflow,omitempty"`
	Definition string     `json:"definition,omitempty" doc:"hash of the workflow's version that it runs"`
	State      core.State `json:"state" enum:"Processing,Compensating,Processed,Compensated,Cancelled,Closed,Error"`
	Phase      core.Phase `json:"phase,omitempty" enum:"forward,undo"`
	Ended      bool       `json:"ended"`
	Run        int        `json:"run"`
	Command    int        `json:"command"`
	Created    core.Time  `json:"created"`
	EndedAt    core.Time  `json:"endedAt,omitzero"`
	Error      *TaskError `json:"error,omitempty"`
	Waits      []Wait     `json:"waits,omitempty" nullable:"false" doc:"what its steps wait for now, the first 8"`
	Damaged    string     `json:"damaged,omitempty" doc:"why the stored document cannot be read, and what to do; all but ID, workflow, state and created is unknown then"`
}

// Wait is what one step of an order waits for.
type Wait struct {
	Step  string    `json:"step"`
	For   string    `json:"for" enum:"agent,retry,time,answer,children,undo" doc:"agent: a reply; retry: the next attempt; time: a wait's end; answer: an answer or event; children: the ends of child orders; undo: the reply to an undo, or its next attempt"`
	Agent string    `json:"agent,omitempty" doc:"that was chosen of several; else the definition names the step's"`
	Since core.Time `json:"since,omitzero" doc:"of the last claim"`
	Until core.Time `json:"until,omitzero" doc:"when that is over at the latest, or looked at again"`
}

// Kinds of Wait.
const (
	WaitAgent    = "agent"
	WaitRetry    = "retry"
	WaitTime     = "time"
	WaitAnswer   = "answer"
	WaitChildren = "children"
	WaitUndo     = "undo"
)

// maxWaits bounds what a listing says of one order.
const maxWaits = 8

func waitsOf(t *core.Task) (all []Wait) {
	if Ended(t) {
		return nil
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		w := Wait{Step: s.Name, Agent: s.Claim.Agent, Since: s.Claim.At, Until: s.CompleteBy}
		switch {
		case s.State == core.Compensating || s.State == core.UndoWait:
			w.For = WaitUndo
		case s.Children != nil && (s.State == core.Processing || s.State == core.Waiting):
			w.For = WaitChildren
		case s.State == core.Processing:
			w.For = WaitAgent
		case s.State == core.Waiting && s.Answers != nil:
			w.For = WaitAnswer
		case s.State == core.Waiting:
			w.For, w.Until = WaitTime, s.Wait.At
		case s.State == core.Pending && s.Wait.At != 0:
			w.For, w.Until = WaitRetry, s.Wait.At
		default:
			continue
		}
		if all = append(all, w); len(all) == maxWaits {
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

// Ended reports that nothing more happens to a task without a command: it is Processed,
// Compensated, Cancelled, Closed, or in Error with nothing in flight.
func Ended(t *core.Task) bool {
	return t.Terminal() || t.ProcessState == core.Error && !t.InFlight()
}

// Of shows a task. def is the definition that it pins; nil leaves out what only that knows.
func Of(t *core.Task, def *core.Definition) Task {
	v := Task{
		OrderID: t.OrderID, Version: t.Version, Workflow: t.Workflow, Definition: t.Definition,
		State: t.ProcessState, Phase: t.Phase, Why: t.Undo.Why, Ended: Ended(t),
		Run: t.Run, Command: t.Commands.Number, Priority: t.Priority, ReplyTo: t.ReplyTo,
		Statuses:   t.StatusSeq,
		Reported:   t.End.At != 0 && t.End.ResendAt == 0,
		CancelSeen: t.Undo.CancelAsked, Parent: parentOf(t), Created: t.Created, EndedAt: t.End.At,
		Deadline: t.Deadline.At,
		Output:   t.Output, Error: errorOf(t.Reason),
		UndoneFor: errorOf(t.Undo.Reason), UndoWait: undoWaitOf(t, def), Closed: t.Closing, Erased: t.Erased,
		Verdicts: t.Commands.Verdicts,
		Steps:    make([]Step, len(t.Steps)),
	}
	v.Attempts, v.Earlier = attemptsOf(t, def)
	for i := range t.Steps {
		d := definitionOf(def, t.Steps[i].Name)
		v.Steps[i] = stepOf(&t.Steps[i], d)
		if d != nil && d.Each != nil {
			v.Steps[i].Children = childrenOf(t, &t.Steps[i], d.Each)
		}
	}
	return v
}

// WorkflowInfo is one workflow that orders can name.
type WorkflowInfo struct {
	Name string `json:"name"`
	// hash of the definition that new orders get; "" if no version was ever valid
	Hash string `json:"hash,omitempty"`
	// problems of a newer file that was refused; the old version stays in force
	Problems []string `json:"problems,omitempty"`
}

// Definition is a version of a workflow: its steps, and what they come after.
type Definition struct {
	Workflow string `json:"workflow"`
	Hash     string `json:"hash"`
	Steps    []Step `json:"steps" nullable:"false" doc:"as those of an order that has just come"`
}

// DefinitionOf shows a definition.
func DefinitionOf(def *core.Definition) Definition {
	v := Definition{Workflow: def.Name, Hash: def.Hash, Steps: make([]Step, len(def.Steps))}
	for i := range def.Steps {
		v.Steps[i] = stepOf(&core.Step{Name: def.Steps[i].Name, State: core.Pending}, &def.Steps[i])
	}
	return v
}

// SummaryOf shows a task in a listing.
func SummaryOf(t *core.Task) Summary {
	return Summary{
		OrderID: t.OrderID, Workflow: t.Workflow, Definition: t.Definition, State: t.ProcessState,
		Phase: t.Phase,
		Ended: Ended(t), Run: t.Run, Command: t.Commands.Number,
		Created: t.Created, EndedAt: t.End.At,
		Error: errorOf(t.Reason), Waits: waitsOf(t),
	}
}

// Listed shows a stored record in a listing. One whose document cannot be read is shown as damaged,
// with what the store itself knows of it.
func Listed(r *port.Record) Summary {
	t, err := state.DecodeTask(r.Document)
	if err == nil && t.OrderID != r.ID {
		err = fmt.Errorf("the document is of order %q; restore it from a backup", t.OrderID)
	}
	if err != nil {
		return Summary{
			OrderID: r.ID, Workflow: r.Workflow, State: core.State(r.State), Created: core.TimeOf(r.Created),
			Damaged: err.Error(),
		}
	}
	return SummaryOf(t)
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

func errorOf(b core.Reason) *TaskError {
	if b.Code == "" && b.Text == "" {
		return nil
	}
	return &TaskError{Code: b.Code, Message: b.Text, Step: b.Step}
}

func stepOf(s *core.Step, def *core.StepDefinition) Step {
	v := Step{
		Name: s.Name, State: s.State, Attempts: s.Attempt, Failures: s.Failures.Do,
		LockedBy: s.Claim.By, FirstAt: s.FirstClaim(), ClaimedAt: s.Claim.At, CompleteBy: s.CompleteBy,
		StopBy: s.Claim.StopBy, WakeAt: s.Wait.At, FinishedAt: s.Finish.At,
		Output: s.Output, Error: s.Error, FailedAs: s.FailureCode, NoEffect: s.NoEffect, Resolved: s.Resolved,
		Corrected: s.Corrected, Progress: s.Claim.Progress,
	}
	undo := Undo{Running: s.Claim.Undo, Failures: s.Failures.Undo, QuietBy: s.Quiet()}
	if def != nil {
		v.Agent = def.AskedAgent(s)
		v.Operation = def.Operation
		v.Grade = def.Grade
		v.NoReturn = def.PointOfNoReturn
		v.After = def.After
		switch {
		case def.Wait != nil:
			v.Kind = KindWait
		case def.Answer != nil:
			v.Kind = KindApproval
			if def.Answer.Event != "" {
				v.Kind = KindEvent
			}
			v.Answers = answersOf(s, def.Answer)
		case def.Fail != nil:
			v.Kind = KindFail
		case def.Each != nil:
			v.Kind = KindWorkflow
			if def.Input != nil {
				v.Kind = KindEach
			}
		}
		if def.Undo == nil {
			return v
		}
		undo.Operation = def.Undo.Operation
		if def.Grade == core.Fenced {
			undo.QuietBy = 0 // a fence needs no quiet time
		}
	}
	v.Undo = &undo
	return v
}
