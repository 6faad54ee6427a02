package world

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Service describes the true behaviour of the remote service behind an agent. An unset field means the
// workflow's declaration.
type Service struct {
	// Grade is the true grade: fenced, idempotent or plain. "" means the declaration of each step.
	Grade core.Grade `json:"grade,omitempty" yaml:"grade"`
	// NoUndo makes the service refuse every undo, so that the operator has to do it by hand.
	NoUndo bool `json:"noUndo,omitempty" yaml:"noUndo"`
	// Latency is the shortest time of a call, and SlowLatency the time of an occasional slow call, in
	// milliseconds.
	Latency     core.Duration `json:"latency,omitempty" yaml:"latency"`
	SlowLatency core.Duration `json:"slowLatency,omitempty" yaml:"slowLatency"`
	// Failures is the share of calls that fail temporarily, and Refusals the share that fail for good; 0 to
	// 1.
	Failures float64 `json:"failures,omitempty" yaml:"failures"`
	Refusals float64 `json:"refusals,omitempty" yaml:"refusals"`
	// Forgets is the time for which the service remembers keys; 0 means the agent's declaration.
	Forgets core.Duration `json:"forgets,omitempty" yaml:"forgets"`
	// Check means that the service can state whether an operation has happened.
	Check bool `json:"check,omitempty" yaml:"check"`
	// Outputs holds the possible outputs of each operation. Of several outputs one is drawn for each
	// idempotency key. An operation without an entry returns {"key": KEY}.
	Outputs map[string][]json.RawMessage `json:"outputs,omitempty" yaml:"-"`
}

// Described reports whether the user has set more than outputs. Then nothing else is drawn.
func (s Service) Described() bool {
	s.Outputs = nil
	return !reflect.DeepEqual(s, Service{})
}

// Services holds the services by agent.
type Services map[string]Service

// Remote is a remote service's record of one key, with the facts about it.
type Remote struct {
	Key     string
	Order   string
	Run     int
	Step    string
	Grade   core.Grade
	Applied int   // effects that began
	Net     int   // effects that stand
	Known   bool  // the service remembers that it executed the key
	Fenced  bool  // the service refuses a later do
	Undone  bool  // an undo has happened or was reported
	Since   int64 // time of the last remembered action for the key
	Pending int   // calls that may still land
	Adrift  int   // pending calls whose callers have given up
	Proven  int   // last attempt that returned noEffect (P22a, a proven refusal permits undo)
}

// ServiceOf returns a service's record of the key of a call.
func (w *Simulation) ServiceOf(c worker.Call, agent string) *Remote {
	s := w.Services[c.Key]
	if s == nil {
		s = &Remote{Key: c.Key, Order: c.OrderID, Run: c.Run, Step: c.Step, Grade: c.Grade}
		if g := w.Sc.Services[agent].Grade; g != "" {
			s.Grade = g
		}
		w.Services[c.Key] = s
	}
	return s
}

// Conf returns the service behind an agent in this world, set by the user or drawn.
func (w *Simulation) Conf(agent string) Service { return w.Traits[agent].Service }

// Trait is a drawn property of a service that its user does not set.
type Trait struct {
	Service
	Size int // size of its outputs, in steps of w.room
	// 1: no output; 2: sometimes too large; 3: sometimes not JSON (P28, what is too large fails once)
	Output    int
	Forgetful bool // the service forgets each key as soon as its retention has passed
	Serial    bool // the agent takes one request at a time (P32, queue time is not a failure)
	Standing  bool // a plain service that reports an undo as done if no effect stands
	Sample    int  // offset in the choice of a key's output
}

// Retention returns how long the service of an agent remembers keys; 0 means for ever.
func (w *Simulation) Retention(agent string) int64 {
	if f := w.Conf(agent).Forgets; f > 0 {
		return int64(f)
	}
	return int64(w.Agent(agent).KeyRetention)
}

// Kept returns the longest retention of all services.
func (w *Simulation) Kept() (most int64) {
	for _, a := range w.Agents {
		most = max(most, w.Retention(a))
	}
	return most
}

// String returns the service's records as text.
func (s *Remote) String() string {
	return fmt.Sprintf("%s: %d effects, %d stand, undone %v", s.Key, s.Applied, s.Net, s.Undone)
}
