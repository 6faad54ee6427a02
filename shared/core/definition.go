package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Grade describes what a remote service guarantees for an operation (docs/explanation/protocol.md, Grades).
type Grade string

const (
	// Fenced means that do(key) happens at most once, and that undo(key) reverses it. An undo(key) with
	// nothing to undo succeeds. A do(key) after an undo(key) is refused.
	Fenced Grade = "fenced"
	// Idempotent means that do(key) happens at most once. An undo(key) with nothing to undo succeeds. A
	// do(key) after an undo(key) is not refused.
	Idempotent Grade = "idempotent"
	// Plain means that the service guarantees nothing. An agent that calls such a service needs a ledger
	// (P31, a plain service needs a ledger).
	Plain Grade = "plain"
)

// Policy states what a task does after a step has failed for good (P19, policy decides about a failed step).
type Policy string

// Reactions to a step that has failed for good.
const (
	OnFailureUndo Policy = "undo" // the whole task is undone
	OnFailureStop Policy = "stop" // the task stops in Error and alerts the operator
	// OnFailureContinue means that only the step is undone, and the task goes on (P42, orders can go on after
	// failures).
	OnFailureContinue Policy = "continue"
	// OnExhaustedKeep means that what the iterations of a Repeat did stands, and that the task goes on (P57, a block
	// can be repeated). It is a policy of Repeat.OnExhausted only.
	OnExhaustedKeep Policy = "keep"
)

// DefinitionHash returns the hash that names a stored definition: the first 16 bytes of its SHA-256, in
// hexadecimal.
func DefinitionHash(stored []byte) string {
	sum := sha256.Sum256(stored)
	return hex.EncodeToString(sum[:16])
}

// DefinitionSchema is the highest major version of the stored form that this code reads. Only a definition with
// an Any, a Repeat, an Enough, Events, a deadline or reminders of a step has it. Every other one has the version 1, so
// that older code can read it.
const DefinitionSchema = 2

// Definition is a compiled workflow. A task refers to its definition by hash, so that a deployment never
// affects a running task. Package workflow/source compiles and validates definitions, and protocol.Decide
// relies on the validation.
type Definition struct {
	Schema int                        `json:"schema"` // major version of the stored form
	Name   string                     `json:"name"`
	Hash   string                     `json:"-"` // DefinitionHash of the stored form
	Steps  []StepDefinition           `json:"steps"`
	Agents map[string]AgentDefinition `json:"agents"` // all agents of the steps, by name
	// Output is the template of the workflow's output; see Expressions.
	Output json.RawMessage `json:"output,omitempty"`
	// Order is the JSON Schema of the orders. If it is absent, any order is allowed.
	Order json.RawMessage `json:"order,omitempty"`
	// Deadline is the longest time from the submission of an order to its end. 0 means no deadline.
	Deadline   Duration `json:"deadline,omitempty"`
	OnDeadline Policy   `json:"onDeadline,omitempty"` // reaction to a passed deadline; required with Deadline
	// Grace is how late a Wake may be. After this time, the Supervisor sends a new Wake (P9a, a waiting
	// step has two times).
	Grace Duration `json:"grace"`
	// ResendAfter is the longest time that a final status stays unsettled. After this time, the Supervisor
	// sends Settle (P11, an end is reported until settled).
	ResendAfter Duration `json:"tellAfter"`
	// HopBudget is the largest number of counted forward claims after the start of a run or a Resubmit (P23,
	// a hop budget bounds claims).
	HopBudget int `json:"hopBudget"`
	// Notify lists the kinds of status messages that an order with a reply-to gets.
	Notify []StatusKind `json:"notify"`
	// Events means that final statuses also go to the event bus with the reply-to name Events.
	Events bool `json:"events,omitempty"`
	// AlertUndone means that the undo of an order after a failed step raises an alert (P11).
	AlertUndone bool `json:"alertUndone,omitempty"`
	// Tokens means that an input contains tokens of answers (P39, a token is an answer's permission).
	Tokens bool `json:"tokens,omitempty"`
	// Schedule is the schedule of automatic starts. It is nil if orders start only by submission.
	Schedule *Schedule   `json:"schedule,omitempty"`
	Expr     Expressions `json:"-"` // set after loading

	byName    map[string]int // index of each step by name; Link sets this field and the fields below
	after     [][]int
	ancestors [][]int
	serves    []int   // index of the step that a step serves, or -1; see Serves
	members   [][]int // members of each Any
}

// AgentDefinition holds the facts about an agent that the core needs.
type AgentDefinition struct {
	// QueueAllowance is the time that a request may wait in the agent's queue (P32, queue time is not a
	// failure).
	QueueAllowance Duration `json:"queueAllowance"`
	// ClockSkew is the greatest difference between the clocks of Scheduler and agent (P21, an undo waits for
	// quiet).
	ClockSkew Duration `json:"clockSkew"`
	// KeyRetention is the time that the service remembers keys (P18, resubmit uses a remembered key). 0 means
	// for ever.
	KeyRetention Duration `json:"keyRetention,omitempty"`
}

// StepDefinition is one step of a workflow. If Wait, Answer, Fail, Each and Any are nil, the step is a call of
// an agent.
type StepDefinition struct {
	Name string `json:"name"`
	// Wait makes the step wait for a time. With Wait, the fields Agent, Operation, Timeout, Retry, Undo and
	// Grade are empty.
	Wait *Wait `json:"wait,omitempty"`
	// Answer makes the step wait for an answer. With Answer, the fields Agent, Operation, Retry, Undo and
	// Grade are empty.
	Answer *Answer `json:"answer,omitempty"`
	// Fail makes the step fail for good. With Fail, all fields of a call are empty.
	Fail *Fail `json:"fail,omitempty"`
	// Each makes the step start a child task for each element of its Input. With Each, the fields Agent,
	// Operation, Timeout, Retry, Undo and Grade are empty.
	Each *Each `json:"each,omitempty"`
	// Any makes the step end when the first of its members have ended. With Any, all fields of a call are empty.
	Any   *Any   `json:"any,omitempty"`
	Agent string `json:"agent"`
	// Others lists further agents for the same service (P44, several agents can do one step).
	Others    []string        `json:"agents,omitempty"`
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input,omitempty"` // template of the input; see Expressions
	After     []string        `json:"after,omitempty"`
	When      string          `json:"when,omitempty"` // condition; "" is always true
	// Timeout is the longest time of one attempt. MaxDuration can extend it. For a step with Answer, Timeout
	// is the longest wait if the question states none.
	Timeout Duration `json:"timeout"`
	// MaxQueueTime is the longest total time in the agent's queue. After this time, the task stops in Error
	// (P32).
	MaxQueueTime Duration `json:"maxQueueTime"`
	// MaxDuration is the longest time of an attempt that reports Progress at least every Timeout (P43, long
	// work reports progress). 0 means Timeout.
	MaxDuration Duration `json:"maxDuration,omitempty"`
	// PollFor is the longest time that the service may answer not-yet (P45, "not now" is not a failure).
	// After this time, the step has failed. 0 means MaxQueueTime, after which the task stops in Error.
	PollFor Duration `json:"pollFor,omitempty"`
	// Deadline is the longest time from the step's first claim to its end, whatever it does meanwhile (P58, a step
	// has a deadline). 0 means none. DeadlineAt is the template of an absolute deadline instead; see Expressions.
	// OnDeadline is the reaction, required with either.
	Deadline   Duration        `json:"deadline,omitempty"`
	DeadlineAt json.RawMessage `json:"deadlineAt,omitempty"`
	OnDeadline Policy          `json:"onDeadline,omitempty"`
	// Remind repeats a call until the step has ended. It is nil for a step without reminders.
	Remind    *Remind `json:"remind,omitempty"`
	Retry     Retry   `json:"retry"`
	OnFailure Policy  `json:"onFailure"`
	// Undo is the operation that reverses the step. It is nil for a step without an effect ("undo: none"),
	// and for a step at or after the point of no return.
	Undo  *Undo `json:"undo,omitempty"`
	Grade Grade `json:"grade"`
	// PointOfNoReturn means that nothing is undone after the step's claim. There is one exception: with
	// OnFailureUndo, a proven refusal of the step undoes the task (P22a, a proven refusal permits undo).
	PointOfNoReturn bool `json:"pointOfNoReturn,omitempty"`
}

// Schedule starts orders of a workflow at set times. Package schedule and the Supervisor use it.
type Schedule struct {
	// Cron is a cron expression of five fields, or @hourly, @daily, @weekly, @monthly or @yearly.
	Cron    string  `json:"cron"`
	Zone    string  `json:"zone,omitempty"` // IANA name; "" means UTC
	Overlap Overlap `json:"overlap"`        // reaction if the previous order has not ended
	// CatchUp is the longest delay of a start, for example after an outage. A start with a longer delay is
	// skipped.
	CatchUp Duration `json:"catchUp"`
	// Input is the order as a JSON object. Each start adds the field scheduledTime.
	Input json.RawMessage `json:"input,omitempty"`
}

// Overlap is the reaction if the previous order has not ended at a scheduled time.
type Overlap string

// Reactions to a previous order that has not ended.
const (
	OverlapSkip  Overlap = "skip"
	OverlapAllow Overlap = "allow"
)

// Retry states the allowed failures of a step, and the waits between its attempts.
type Retry struct {
	MaxFailures int     `json:"maxFailures"` // counted failures before the extended wait; at least 1
	Backoff     Backoff `json:"backoff"`
	// ExtendedInterval is the wait before each attempt of the extended wait.
	ExtendedInterval Duration `json:"extendedInterval,omitempty"`
	// ExtendedRounds is the number of attempts in the extended wait. 0 means that there is no extended wait.
	ExtendedRounds int `json:"extendedRounds,omitempty"`
}

// Budget returns the number of counted failures after which the step's policy applies (P16, the Supervisor
// hands back and gives up).
func (r Retry) Budget() int { return r.MaxFailures + r.ExtendedRounds }

// Backoff is a wait that grows exponentially from Initial to Max. Jitter is the largest fraction of the wait
// that is subtracted at random.
type Backoff struct {
	Initial    Duration `json:"initial"`
	Max        Duration `json:"max"`
	Multiplier float64  `json:"multiplier"` // factor of at least 1
	Jitter     float64  `json:"jitter"`     // 0 to 1
}

// Undo is the operation that reverses a step.
type Undo struct {
	Operation string `json:"operation"`
	// Input is the template of the input. If it is absent, the undo gets the input of the do.
	Input   json.RawMessage `json:"input,omitempty"`
	Timeout Duration        `json:"timeout"`
	Retry   Retry           `json:"retry"` // retries of the undo; they have no extended wait
}

// Environment holds all values that an expression may read.
type Environment struct {
	OrderID string
	Run     int
	Order   json.RawMessage
	// Outputs holds outputs of steps by name. An expression of a step reads the outputs of its direct and
	// indirect predecessors, because those outputs do not change any more (P12, effects are emitted again).
	// The input of an undo also reads the output of the undone step. The workflow's output reads all outputs.
	// A skipped step, or a step that an operator resolved without an output, has no entry.
	Outputs map[string]json.RawMessage
	// Failures holds the codes of failed steps after which the order went on, by step name (P42).
	Failures map[string]string
	// Won holds the names of the members that have decided an Any, by the name of its step, in the order in which
	// they ended. Outputs holds the output of each of them, and that of the first as the output of the Any.
	Won   map[string][]string
	Value json.RawMessage // value of an answer; only Answer.Refuse reads it
	// Token returns a token for an answer to a step (P39). With an empty person, anyone may use the token.
	// Token is called only if Definition.Tokens is set.
	Token func(step, person string) (string, error)
	// Item is an element of the list of an Each, or the output of an iteration of a Repeat. Only Each.Order and
	// Repeat.Until read it.
	Item  json.RawMessage
	Index int // index of Item, of the iteration, or number of the reminder
}

// Expressions evaluates the templates and conditions of one Definition. The methods are pure functions of
// their arguments, and safe for concurrent use. An error of Value, Holds or Items is a permanent failure
// of the step (P20, what happens next is computed). The operator sees the text of the error, so the text must
// not contain order data.
type Expressions interface {
	// Value evaluates a template of a step. It returns nil if the step has no such template.
	Value(part Part, step int, env Environment) (json.RawMessage, error)
	// Holds evaluates a condition of a step. A condition that the step does not have is true.
	Holds(part Part, step int, env Environment) (bool, error)
	// Items returns the number of elements in a step's list. It calls the function each with every element in
	// order. It is called only if the step is an Each with an Input.
	Items(step int, env Environment, each func(index int, item json.RawMessage)) (count int, err error)
	// InputReads returns the names of the steps whose results the input of a step depends on.
	InputReads(step int) []string
	// Output is called only if Definition.Output is set.
	Output(env Environment) (json.RawMessage, error)
	// CheckAnswer returns an error if a value does not match Answer.Schema. It is called only if
	// Answer.Schema is set.
	CheckAnswer(step int, value json.RawMessage) error
	// CheckPassed returns an error if a value does not match the schema of Each.Events[event]. It is called only if
	// there is one.
	CheckPassed(step, event int, value json.RawMessage) error
	// CheckOrder returns an error if an order does not match Definition.Order. It is called only if
	// Definition.Order is set.
	CheckOrder(order json.RawMessage) error
}

// Part names a template or a condition of a step.
type Part int

// Templates and conditions of a step.
const (
	PartInput      Part = iota
	PartUndo            // Undo.Input
	PartChildOrder      // Each.Order
	PartEnough          // Each.Enough
	PartDeadline        // DeadlineAt
	PartReminder        // Remind.Input
	PartWhen            // condition
	PartUntil           // condition Each.Repeat.Until
	PartRefuse          // condition Answer.Refuse
	Parts               // number of parts
)

// Notifies reports whether tasks of this definition send that kind of status. A definition with "failed" in
// Notify also sends "closed", because older definitions do not list "closed".
func (d *Definition) Notifies(kind StatusKind) bool {
	if kind == StatusClosed {
		kind = StatusFailed
	}
	return slices.Contains(d.Notify, kind)
}

// Error returns the message of the rule. It makes a Fail an error, so that package protocol can return it as
// the error of its step.
func (f *Fail) Error() string { return f.Message }

// AllAgents returns the agents that the step's call can use. All of them reach the same service (P44, several
// agents can do one step).
func (d *StepDefinition) AllAgents() []string { return append([]string{d.Agent}, d.Others...) }

// HasDeadline reports whether the step has a deadline of its own.
func (d *StepDefinition) HasDeadline() bool { return d.Deadline > 0 || d.DeadlineAt != nil }

// Reminders returns the agents that the reminders of a step can use.
func (d *Definition) Reminders(s *StepDefinition) []string {
	switch {
	case s.Remind == nil:
		return nil
	case s.Remind.Agent != "":
		return []string{s.Remind.Agent}
	case s.Answer != nil:
		for i := range d.Steps {
			if d.Steps[i].Name == s.Answer.Ask {
				return d.Steps[i].AllAgents()
			}
		}
	}
	return nil
}

// Operations returns the names of the operations that an agent executes for the step.
func (d *StepDefinition) Operations(agent string) (names []string) {
	if slices.Contains(d.AllAgents(), agent) {
		names = append(names, d.Operation)
		if d.Undo != nil {
			names = append(names, d.Undo.Operation)
		}
	}
	if d.Remind != nil && d.Remind.Agent == agent {
		names = append(names, d.Remind.Operation)
	}
	return names
}
