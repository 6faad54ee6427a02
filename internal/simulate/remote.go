package simulate

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Service describes the true behaviour of the remote service behind an agent. If Grade or Forgets is not set,
// the workflow's declaration applies.
type Service struct {
	// Grade is the true grade: fenced, idempotent or plain. "" means the grade that each step declares.
	Grade core.Grade `json:"grade,omitempty" yaml:"grade"`
	// NoUndo makes the service refuse every undo, so that the operator must undo by hand.
	NoUndo bool `json:"noUndo,omitempty" yaml:"noUndo"`
	// Latency is the duration of a usual call, and SlowLatency is the duration of an occasional slow call.
	Latency     core.Duration `json:"latency,omitempty" yaml:"latency"`
	SlowLatency core.Duration `json:"slowLatency,omitempty" yaml:"slowLatency"`
	// Failures is the share of calls that fail temporarily. Refusals is the share of calls that fail
	// permanently. Both are between 0 and 1.
	Failures float64 `json:"failures,omitempty" yaml:"failures"`
	Refusals float64 `json:"refusals,omitempty" yaml:"refusals"`
	// Forgets is the time for which the service remembers a key. The value 0 means the keyRetention that the
	// agent declares.
	Forgets core.Duration `json:"forgets,omitempty" yaml:"forgets"`
	// Check means that the service can report whether an operation has happened.
	Check bool `json:"check,omitempty" yaml:"check"`
	// Outputs lists the possible outputs of each operation. The key of a call selects one of them. An
	// operation without outputs returns {"key": KEY}.
	Outputs map[string][]json.RawMessage `json:"outputs,omitempty" yaml:"-"`
}

// Described reports whether the user has set a field other than Outputs. For such a service the simulation
// chooses no further properties.
func (s Service) Described() bool {
	s.Outputs = nil
	return !reflect.DeepEqual(s, Service{})
}

// Services maps the names of agents to their services.
type Services map[string]Service

// Remote is the true state of a remote service for one key.
type Remote struct {
	Key     string
	Order   string
	Run     int
	Step    string
	Grade   core.Grade
	Applied int   // number of effects of the do
	Net     int   // number of effects that have not been undone
	Known   bool  // true if the service remembers that it has executed the key
	Fenced  bool  // true if the service refuses every further do
	Undone  bool  // true if an undo has happened
	Since   int64 // time of the last remembered action for the key
	Pending int   // number of calls that may still take effect
	Adrift  int   // number of pending calls whose callers no longer wait
	Proven  int   // last attempt that returned noEffect (P22a, a proven refusal permits undo)
}

// ServiceOf returns the state of a service for the key of a call.
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

// Conf returns the behaviour of the service behind an agent in this simulation.
func (w *Simulation) Conf(agent string) Service { return w.Traits[agent].Service }

// Trait is the behaviour of a service, with properties that the simulation chooses.
type Trait struct {
	Service
	Size int // index in the list of additional output data
	// 1: no output; 2: some outputs are too large; 3: some outputs are not JSON (P28, what is too large fails
	// once)
	Output    int
	Forgetful bool // true if the service forgets each key at the end of its retention
	Serial    bool // true if the agent handles one request at a time (P32, queue time is not a failure)
	Standing  bool // true if a check reports an undo as done when a plain service has no effect
	Sample    int  // offset for the choice of a key's output
}

// Retention returns the time for which the service of an agent remembers keys. The value 0 means for ever.
func (w *Simulation) Retention(agent string) int64 {
	if f := w.Conf(agent).Forgets; f > 0 {
		return int64(f)
	}
	return int64(w.Agent(agent).KeyRetention)
}

// Kept returns the longest retention of any service.
func (w *Simulation) Kept() (most int64) {
	for _, a := range w.Agents {
		most = max(most, w.Retention(a))
	}
	return most
}

// String returns the state as text.
func (s *Remote) String() string {
	return fmt.Sprintf("%s: %d effects, %d stand, undone %v", s.Key, s.Applied, s.Net, s.Undone)
}
