package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Grade says what a remote service's operation offers (protocol.md, section 6).
type Grade string

const (
	// Fenced: do(key) at most once; undo(key) reverses or succeeds on nothing, and refuses a later do(key).
	Fenced Grade = "fenced"
	// Idempotent: do(key) at most once; undo(key) succeeds on nothing; no fence.
	Idempotent Grade = "idempotent"
	// Plain: neither. The agent keeps a ledger (P31).
	Plain Grade = "plain"
)

// Policy says what happens when a step has used up its budget or failed for good (P19).
type Policy string

const (
	OnFailureUndo Policy = "undo" // undo the whole task
	OnFailureStop Policy = "stop" // set Error and alert the operator
)

// DefinitionHash names the stored form of a definition: hex of the first 16 bytes of its SHA-256.
func DefinitionHash(stored []byte) string {
	sum := sha256.Sum256(stored)
	return hex.EncodeToString(sum[:16])
}

// Definition is a compiled workflow: data only, stored by its hash and pinned by tasks, so that a
// deploy never disturbs a running task. Package workflow makes it from YAML and validates it;
// Decide trusts it.
type Definition struct {
	Schema     int                        `json:"schema"` // 1
	Name       string                     `json:"name"`
	Hash       string                     `json:"-"` // DefinitionHash of the JSON form
	Steps      []StepDefinition           `json:"steps"`
	Agents     map[string]AgentDefinition `json:"agents"`               // every agent that a step names
	Output     json.RawMessage            `json:"output,omitempty"`     // template, see Expressions
	Deadline   Duration                   `json:"deadline,omitempty"`   // of a run from its submission; 0: none
	OnDeadline Policy                     `json:"onDeadline,omitempty"` // required with Deadline
	Grace      Duration                   `json:"grace"`                // how long after wakeAt the Supervisor asks again (P9a)
	TellAfter  Duration                   `json:"tellAfter"`            // how long an end may stay untold before the Supervisor sends Settle (P11)
	HopBudget  int                        `json:"hopBudget"`            // forward claims between operator commands (P23)
	Notify     []StatusKind               `json:"notify"`               // which status messages an order with a reply-to gets
	Expr       Expressions                `json:"-"`                    // attached after loading

	byName    map[string]int // set by Link
	after     [][]int
	ancestors [][]int
}

// AgentDefinition is what the core must know of an agent.
type AgentDefinition struct {
	QueueAllowance Duration `json:"queueAllowance"`         // time that a request may wait in the agent's queue (P32)
	ClockSkew      Duration `json:"clockSkew"`              // greatest difference between the clocks of Scheduler and Agent (P21)
	KeyRetention   Duration `json:"keyRetention,omitempty"` // how long the service remembers keys; 0: for ever (P18)
}

// StepDefinition is one step of a workflow.
type StepDefinition struct {
	Name            string          `json:"name"`
	Agent           string          `json:"agent"`
	Operation       string          `json:"operation"`
	Input           json.RawMessage `json:"input,omitempty"` // template, see Expressions
	After           []string        `json:"after,omitempty"`
	When            string          `json:"when,omitempty"` // expression; empty: always
	Timeout         Duration        `json:"timeout"`        // of one handling by the agent
	MaxQueueTime    Duration        `json:"maxQueueTime"`   // total time in the agent's queue before Error (P32)
	Retry           Retry           `json:"retry"`
	OnFailure       Policy          `json:"onFailure"`
	Undo            *Undo           `json:"undo,omitempty"` // nil: no effect to undo ("undo: none"), or past the point of no return
	Grade           Grade           `json:"grade"`
	PointOfNoReturn bool            `json:"pointOfNoReturn,omitempty"` // with OnFailureUndo: its proven refusal undoes the task (P22a)
}

// Retry is the budget of a step and its waits.
type Retry struct {
	MaxFailures      int      `json:"maxFailures"` // counted failures before the extended wait; at least 1
	Backoff          Backoff  `json:"backoff"`
	ExtendedInterval Duration `json:"extendedInterval,omitempty"` // wait between the rounds past MaxFailures
	ExtendedRounds   int      `json:"extendedRounds,omitempty"`   // 0: no extended wait
}

// Budget is how many counted failures a step survives less one: at the budget the policy applies (P16).
func (r Retry) Budget() int { return r.MaxFailures + r.ExtendedRounds }

// Backoff grows exponentially from Initial to Max; Jitter takes off up to that share of it.
type Backoff struct {
	Initial    Duration `json:"initial"`
	Max        Duration `json:"max"`
	Multiplier float64  `json:"multiplier"` // at least 1
	Jitter     float64  `json:"jitter"`     // 0 to 1
}

// Undo is the operation that reverses a step.
type Undo struct {
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input,omitempty"` // template; absent: the input of the do
	Timeout   Duration        `json:"timeout"`
	Retry     Retry           `json:"retry"` // the extended wait does not apply
}

// Environment is what expressions see. Nothing else: no clock, no randomness.
type Environment struct {
	OrderID string
	Run     int
	Order   json.RawMessage
	// Outputs of the steps that the expression may see: for a step those that it comes after,
	// directly or not (so that a redelivery computes the same bytes, P12), for its undo also its
	// own, for the workflow's output all. A Skipped step, or one whose output is not known
	// (resolved by the operator), has no entry.
	Outputs map[string]json.RawMessage
}

// Expressions evaluates the templates and conditions of one Definition. It must be a pure
// function of its arguments and safe for concurrent use. An error is a permanent failure of the
// step (P20); its text is shown to the operator and must not contain order data.
type Expressions interface {
	Input(step int, env Environment) (json.RawMessage, error)
	UndoInput(step int, env Environment) (json.RawMessage, error) // only asked where Undo.Input is set
	When(step int, env Environment) (bool, error)
	Output(env Environment) (json.RawMessage, error) // only asked where Output is set
}

// Link prepares the definition for use. It must be called once after loading, before the
// definition is shared; Steps must not change afterwards. Unknown names in After are dropped:
// validation refuses them.
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
	d.ancestors = make([][]int, len(d.Steps))
	for i := range d.Steps {
		d.ancestors[i] = d.before(i)
	}
}

// before lists the steps that step i comes after, directly or not, nearest first.
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

// Notifies reports whether tasks of this definition send that kind of status. "closed" is told wherever
// "failed" is: definitions that were stored before there was a Close do not name it.
func (d *Definition) Notifies(kind StatusKind) bool {
	if kind == StatusClosed {
		kind = StatusFailed
	}
	for _, k := range d.Notify {
		if k == kind {
			return true
		}
	}
	return false
}
