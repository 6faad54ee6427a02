package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Grade describes what a remote service's operation offers (docs/explanation/protocol.md, Grades).
type Grade string

const (
	// Fenced means that do(key) happens at most once, undo(key) reverses it or succeeds if there is nothing
	// to undo, and a do(key) after that is refused.
	Fenced Grade = "fenced"
	// Idempotent means that do(key) happens at most once, and undo(key) succeeds if there is nothing to undo.
	// A later do(key) is not refused.
	Idempotent Grade = "idempotent"
	// Plain means that the service guarantees nothing. It needs a ledger, which the agent
	// keeps (P31, a plain service needs a ledger).
	Plain Grade = "plain"
)

// Policy is the reaction to a step that has used up its budget or failed for good (P19, policy decides about
// a failed step).
type Policy string

// Reactions to a step that failed.
const (
	OnFailureUndo Policy = "undo" // undo the whole task
	OnFailureStop Policy = "stop" // set Error and alert the operator

	OnFailureContinue Policy = "continue" // undo the step alone, and go on without it (P42)
)

// DefinitionHash returns the name of a definition's stored form: the first 16 bytes of its SHA-256 in
// hexadecimal.
func DefinitionHash(stored []byte) string {
	sum := sha256.Sum256(stored)
	return hex.EncodeToString(sum[:16])
}

// DefinitionSchema is the major version of the stored form that this code reads and writes.
const DefinitionSchema = 1

// Definition is a compiled workflow. It is data only, stored by its hash and pinned by tasks, so that a
// deploy never affects a running task. Package workflow makes it from YAML and validates it. Decide trusts
// it.
type Definition struct {
	Schema int                        `json:"schema"` // major version of the stored form
	Name   string                     `json:"name"`
	Hash   string                     `json:"-"` // DefinitionHash of the JSON form
	Steps  []StepDefinition           `json:"steps"`
	Agents map[string]AgentDefinition `json:"agents"`           // every agent that a step names
	Output json.RawMessage            `json:"output,omitempty"` // template, see Expressions
	// JSON Schema of the orders; if absent, any order is allowed
	Order json.RawMessage `json:"order,omitempty"`
	// longest time of a run from its submission; 0 means no deadline
	Deadline   Duration `json:"deadline,omitempty"`
	OnDeadline Policy   `json:"onDeadline,omitempty"` // required with Deadline
	// delay after wakeAt until the Supervisor sends another Wake (P9a, a waiting step has two times)
	Grace Duration `json:"grace"`
	// longest time that a final status stays unacknowledged before the Supervisor sends Settle (P11, an end
	// is reported until settled)
	ResendAfter Duration `json:"tellAfter"`
	// largest number of forward claims between two commands of the operator (P23, a hop budget bounds claims)
	HopBudget int `json:"hopBudget"`
	// kinds of status messages that an order with a reply-to gets
	Notify []StatusKind `json:"notify"`
	// the end of every order is sent to the reply-to Events too
	Events bool `json:"events,omitempty"`
	// an order that is undone because a step failed raises an alert (P11)
	AlertUndone bool `json:"alertUndone,omitempty"`
	// an input makes tokens of answers (P39, a token is an answer's permission)
	Tokens bool `json:"tokens,omitempty"`
	// schedule of automatic starts; nil if orders start only by submission
	Schedule *Schedule   `json:"schedule,omitempty"`
	Expr     Expressions `json:"-"` // attached after loading

	byName    map[string]int // set by Link
	after     [][]int
	ancestors [][]int
	asks      []int // step that gets the answer to the question of a call; -1 for every other step
}

// AgentDefinition holds the facts about an agent that the core needs.
type AgentDefinition struct {
	// time that a request may wait in the agent's queue (P32, queue time is not a failure)
	QueueAllowance Duration `json:"queueAllowance"`
	// greatest difference between the clocks of Scheduler and Agent (P21, an undo waits for quiet)
	ClockSkew Duration `json:"clockSkew"`
	// time that the service remembers keys; 0 means for ever (P18, resubmit uses a remembered key)
	KeyRetention Duration `json:"keyRetention,omitempty"`
}

// StepDefinition is one step of a workflow: a call of an agent or, if Wait, Answer, Fail or Each is set, a
// wait for a time or for an answer, a failure by rule, or child tasks.
type StepDefinition struct {
	Name string `json:"name"`
	// if set, Agent, Operation, Timeout, Retry, Undo and Grade are empty
	Wait *Wait `json:"wait,omitempty"`
	// if set, Agent, Operation, Retry, Undo and Grade are empty
	Answer *Answer `json:"answer,omitempty"`
	Fail   *Fail   `json:"fail,omitempty"` // if set, all fields of a call are empty
	// if set, all fields of a call are empty; the input is the list
	Each  *Each  `json:"each,omitempty"`
	Agent string `json:"agent"`
	// further agents for the same service, after Agent (P44, several agents can do one step)
	Others    []string        `json:"agents,omitempty"`
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input,omitempty"` // template, see Expressions
	After     []string        `json:"after,omitempty"`
	When      string          `json:"when,omitempty"` // expression; an empty one is always true
	// longest time of one handling by the agent, or of the wait for an answer
	Timeout Duration `json:"timeout"`
	// total time in the agent's queue before Error (P32)
	MaxQueueTime Duration `json:"maxQueueTime"`
	// longest time of a handling that reports Progress at least every Timeout (P43, long work reports
	// progress); 0 means Timeout
	MaxDuration Duration `json:"maxDuration,omitempty"`
	// longest time that the service may answer not-yet before Error (P45, "not now" is not a failure); 0
	// means MaxQueueTime
	PollFor   Duration `json:"pollFor,omitempty"`
	Retry     Retry    `json:"retry"`
	OnFailure Policy   `json:"onFailure"`
	// nil if the step has no effect to undo ("undo: none"), or is past the point of no return
	Undo  *Undo `json:"undo,omitempty"`
	Grade Grade `json:"grade"`
	// the step is a point of no return; with OnFailureUndo, its proven refusal undoes the task (P22a, a
	// proven refusal permits undo)
	PointOfNoReturn bool `json:"pointOfNoReturn,omitempty"`
}

// Kind is the sort of a step.
type Kind string

// Kinds of steps.
const (
	KindCall   Kind = "call"
	KindWait   Kind = "wait"
	KindAnswer Kind = "answer"
	KindFail   Kind = "fail"
	KindEach   Kind = "each"
)

// Kind returns the sort of the step.
func (d *StepDefinition) Kind() Kind {
	switch {
	case d.Wait != nil:
		return KindWait
	case d.Answer != nil:
		return KindAnswer
	case d.Fail != nil:
		return KindFail
	case d.Each != nil:
		return KindEach
	}
	return KindCall
}

// MaxWait is the longest wait of a step (P34, a wait ends at a fixed time).
const MaxWait = 366 * Day

// Wait is a step that ends at a time (P34): For after its claim or, if the step has an input, at the time in
// RFC 3339 that the input evaluates to. If that time has passed, it ends at once.
type Wait struct {
	For Duration `json:"for,omitempty"` // 0 to MaxWait
	// upper bound of an additional wait, computed from the order's ID, so that many waits do not end at once
	Spread Duration `json:"spread,omitempty"`
}

// Fail is a step that fails for good when its turn comes and its When is true (P50, a rule can fail the
// order). The workflow's author writes both texts. They contain no data of the order, because alerts,
// statuses and logs show them.
type Fail struct {
	Code    string `json:"code"`    // short and stable, see StepError
	Message string `json:"message"` // text for people, at most MaxMessage bytes
}

// Each is a step of child tasks: one for each element of the list that the step's input evaluates to or, if
// the step has no input, a single one (P40, a step can have child orders).
type Each struct {
	Workflow   string `json:"workflow"`
	Definition string `json:"definition"` // hash, pinned with the parent's
	// template of a child's order, which reads item and index; if absent, the item itself or, without a list,
	// the parent's order
	Order       json.RawMessage `json:"order,omitempty"`
	Concurrency int             `json:"concurrency"`        // children that run at once, 1 to MaxConcurrency
	Tolerate    int             `json:"tolerate,omitempty"` // number of children that may fail
	// definition named by Definition, if it was read with the parent
	Child   *Definition `json:"-"`
	Collect bool        `json:"collect,omitempty"` // the step's output holds the children's outputs
}

// Bounds of child tasks (P40).
const (
	MaxChildren    = 10_000   // per step
	MaxConcurrency = 100      // per step
	MaxChildDepth  = 3        // depth of workflows within workflows
	MaxChildOrder  = 48 << 10 // bytes of a child's order
	MaxCollected   = 16 << 10 // bytes of all outputs that a step collects
	maxFailedAt    = 20
)

// MaxID is the longest ID of a task, in bytes.
const MaxID = 128

// ChildID returns the ID of a child task. It contains the parent's run, because a task's order never changes
// and a child may get another order in the parent's next run. If the ID would be longer than MaxID, ChildID
// shortens it and appends two ChildMarks and a hash. No other ID has two ChildMarks.
func (p Parent) ChildID() string {
	id := p.OrderID + ChildMark + p.Step + ChildMark + strconv.Itoa(p.Index)
	if p.Run > 0 {
		id += "." + strconv.Itoa(p.Run)
	}
	if len(id) <= MaxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	tail := ChildMark + ChildMark + hex.EncodeToString(sum[:16])
	return id[:MaxID-len(tail)] + tail
}

// ChildMark occurs in the IDs of child tasks only.
const ChildMark = "~"

// Answer is a step that ends with an answer from outside: an approval by people, or an event (P35, an answer
// decides a round). The step's input evaluates to a Question when it is claimed. Its Timeout applies if the
// question names none.
type Answer struct {
	// name of an earlier step whose call asks for the answer (P38, an ask sends the question); expressions
	// cannot read it
	Ask    string   `json:"ask,omitempty"`
	Event  string   `json:"event,omitempty"`  // name of the outside event; "" means an approval
	Values []string `json:"values,omitempty"` // allowed answers to an approval
	// JSON Schema of an event's value; if absent, any value is allowed
	Schema json.RawMessage `json:"schema,omitempty"`
	// expression over the value; if it is true, the step fails for good
	Refuse    string `json:"refuse,omitempty"`
	OnTimeout Policy `json:"onTimeout,omitempty"` // required unless TimeoutValue is set
	// interval at which Ask is sent again while the question is open (P37, a question has a time); 0 means
	// never
	Remind Duration `json:"remind,omitempty"`
	// TimeoutValue is the output of the step if no answer has come in time.
	TimeoutValue json.RawMessage `json:"timeoutValue,omitempty"`
}

// Question is the value of the input of a step that waits for an answer. The claim stores Need, Who, NotSelf
// and Timeout. The other fields are computed again when they are shown.
type Question struct {
	Question string          `json:"question,omitempty"`
	Show     json.RawMessage `json:"show,omitempty"`
	Need     *int            `json:"need,omitempty"`    // number of people who must agree; if absent, 1
	Who      []string        `json:"who,omitempty"`     // people who may answer; if absent, everyone may
	NotSelf  *string         `json:"notSelf,omitempty"` // person who may not answer
	// duration such as "48h" or "7d"; if absent, the definition's Timeout
	Timeout string `json:"timeout,omitempty"`
}

// Bounds of answers; sizes are in bytes.
const (
	MaxVoters      = 32      // voters of a round, and people in Who
	MaxAnswerBy    = 128     // the name of a person
	MaxAnswerValue = 8 << 10 // the value of an event
	MaxApproval    = 64      // a value of an approval
)

// PersonName reports whether a text may be the name of a person who answers. It has 1 to MaxAnswerBy bytes,
// and JSON encodes each of them as one byte.
func PersonName(name string) bool {
	if name == "" || len(name) > MaxAnswerBy || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name,
		func(c rune) bool { return Unprintable(c) || strings.ContainsRune("<>&\"\\", c) })
}

// Unprintable reports whether a character could control a terminal, forge a line, or change the order of
// neighbouring text: a control character, a separator of lines or paragraphs, or a control of writing
// direction. Names, codes and reasons contain none.
func Unprintable(c rune) bool {
	return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Bidi_Control, c)
}

// Schedule starts orders of a workflow by the clock. The core does not use it. Package schedule and the
// Supervisor do.
type Schedule struct {
	// five fields, or @hourly, @daily, @weekly, @monthly, @yearly
	Cron    string  `json:"cron"`
	Zone    string  `json:"zone,omitempty"` // IANA name; "" means UTC
	Overlap Overlap `json:"overlap"`        // policy if the previous order has not ended
	// longest delay of a start, for example after an outage; later starts are skipped
	CatchUp Duration `json:"catchUp"`
	// order as a JSON object, without its field scheduledTime
	Input json.RawMessage `json:"input,omitempty"`
}

// Overlap is the reaction to a scheduled time at which the previous order has not ended.
type Overlap string

// Reactions to an order that has not ended.
const (
	OverlapSkip  Overlap = "skip"
	OverlapAllow Overlap = "allow"
)

// Retry is the budget of a step and its waits.
type Retry struct {
	MaxFailures      int      `json:"maxFailures"` // counted failures before the extended wait; at least 1
	Backoff          Backoff  `json:"backoff"`
	ExtendedInterval Duration `json:"extendedInterval,omitempty"` // wait between the rounds past MaxFailures
	ExtendedRounds   int      `json:"extendedRounds,omitempty"`   // 0 means no extended wait
}

// Budget returns the number of counted failures at which the policy applies (P16, the Supervisor hands back
// and gives up).
func (r Retry) Budget() int { return r.MaxFailures + r.ExtendedRounds }

// Backoff grows exponentially from Initial to Max. Jitter is the largest part of a wait that is subtracted at
// random.
type Backoff struct {
	Initial    Duration `json:"initial"`
	Max        Duration `json:"max"`
	Multiplier float64  `json:"multiplier"` // factor of at least 1
	Jitter     float64  `json:"jitter"`     // 0 to 1
}

// Undo is the operation that reverses a step.
type Undo struct {
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input,omitempty"` // template; if absent, the input of the do
	Timeout   Duration        `json:"timeout"`
	Retry     Retry           `json:"retry"` // the extended wait does not apply
}

// Environment holds the values that expressions read. They read nothing else: no clock, no randomness.
type Environment struct {
	OrderID string
	Run     int
	Order   json.RawMessage
	// Outputs holds the outputs that the expression may read. An expression of a step reads the outputs of
	// its predecessors, direct or not, so that a redelivery computes the same bytes (P12, effects are emitted
	// again). The step's undo also reads the step's own output. The workflow's output reads the outputs of
	// all steps. A step that was skipped has no entry, and neither has a step whose output the operator did
	// not state.
	Outputs map[string]json.RawMessage
	// error codes of the failed steps that did not stop the order (P42, orders can go on after failures)
	Failures map[string]string
	Value    json.RawMessage // value of an answer; only Answer.Refuse reads it
	// Token makes a token of an answer to a step, for a person or for anyone (P39). It is only called if
	// Definition.Tokens is set.
	Token func(step, person string) (string, error)
	Item  json.RawMessage // item of the list of an Each; only Each.Order reads it
	Index int             // index of Item
}

// Expressions evaluates the templates and conditions of one Definition. It must be a pure function of its
// arguments and safe for concurrent use. An error is a permanent failure of the step (P20, what happens next
// is computed). The operator sees its text, which must not contain order data.
type Expressions interface {
	Input(step int, env Environment) (json.RawMessage, error)
	// names of the steps whose results Input depends on
	InputReads(step int) []string
	UndoInput(step int, env Environment) (json.RawMessage, error) // only called if Undo.Input is set
	When(step int, env Environment) (bool, error)
	Output(env Environment) (json.RawMessage, error) // only called if Output is set
	// CheckAnswer returns the fault of a value. It is only called if Answer.Schema is set.
	CheckAnswer(step int, value json.RawMessage) error
	// CheckOrder returns the mismatch of an order. It is only called if Definition.Order is set.
	CheckOrder(order json.RawMessage) error
	Refused(step int, env Environment) (bool, error) // only called if Answer.Refuse is set
	// Items returns the number of elements in the list of a step, and passes them to each in order. It is
	// only called if the step is an Each with an Input.
	Items(step int, env Environment, each func(index int, item json.RawMessage)) (count int, err error)
	ChildOrder(step int, env Environment) (json.RawMessage, error) // only called if Each.Order is set
}

// Link prepares the definition for use. Call it once after loading, before the definition is shared. Steps
// must not change afterwards. It drops unknown names in After, which validation refuses.
func (d *Definition) Link() {
	d.byName = make(map[string]int, len(d.Steps))
	for i := range d.Steps {
		d.byName[d.Steps[i].Name] = i
	}
	d.after = make([][]int, len(d.Steps))
	for i := range d.Steps {
		for _, name := range d.Steps[i].After {
			if j, ok := d.byName[name]; ok {
				d.after[i] = append(d.after[i], j)
			}
		}
	}
	d.asks = slices.Repeat([]int{-1}, len(d.Steps))
	for i := range d.Steps {
		if a := d.Steps[i].Answer; a != nil && a.Ask != "" {
			if j, ok := d.byName[a.Ask]; ok {
				d.asks[j] = i
			}
		}
	}
	d.ancestors = make([][]int, len(d.Steps))
	for i := range d.Steps {
		// P38: the result of an ask may change after later steps were claimed (P12).
		d.ancestors[i] = slices.DeleteFunc(d.before(i), func(j int) bool { return d.asks[j] >= 0 })
	}
}

// Predecessors returns the steps that step i names in After.
func (d *Definition) Predecessors(i int) []int { return d.after[i] }

// Ancestors returns the steps whose results step i may read: its direct and indirect predecessors, except
// asks.
func (d *Definition) Ancestors(i int) []int { return d.ancestors[i] }

// AsksFor returns the step that gets the answer to the question of step i, or -1 if step i asks no question.
func (d *Definition) AsksFor(i int) int { return d.asks[i] }

// before returns the steps that step i comes after, directly or not, nearest first.
func (d *Definition) before(i int) []int {
	seen := make([]bool, len(d.Steps))
	found := append([]int(nil), d.after[i]...)
	for n := 0; n < len(found); n++ {
		if j := found[n]; !seen[j] {
			seen[j] = true
			found = append(found, d.after[j]...)
		}
	}
	unique := found[:0]
	for _, j := range found {
		if seen[j] {
			seen[j] = false
			unique = append(unique, j)
		}
	}
	return unique
}

// Index returns the position of the named step, or -1.
func (d *Definition) Index(step string) int {
	if i, ok := d.byName[step]; ok {
		return i
	}
	return -1
}

// Notifies reports whether tasks of this definition send that kind of status. A task sends "closed" if it
// sends "failed", because definitions older than the command Close do not list "closed".
func (d *Definition) Notifies(kind StatusKind) bool {
	if kind == StatusClosed {
		kind = StatusFailed
	}
	return slices.Contains(d.Notify, kind)
}

// Show adds the output or the failure of a step.
func (e *Environment) Show(s *Step) {
	if s.Output != nil {
		e.Outputs[s.Name] = s.Output
	}
	if s.FailureCode != "" {
		if e.Failures == nil {
			e.Failures = map[string]string{}
		}
		e.Failures[s.Name] = s.FailureCode
	}
}

// Error returns the message of the rule, which becomes the error of the step's claim.
func (f *Fail) Error() string { return f.Message }
