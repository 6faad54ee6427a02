// Package world holds the state of one run. A run is one simulation of a scenario. The state contains:
//   - the time, the choices and the faults
//   - the content of stores, queues and services
//   - the data that each handler has read
//   - the first violation
//
// Package deployment runs the real actors in this state.
package world

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Begun is an order that has already run before the simulation begins. No step of the order is in flight.
type Begun struct {
	Task *protocol.Task // task of the order "o1"; never changed
	At   core.Time      // time at which the run begins
}

// Shop is the name of the application's status queue.
const Shop = "shop"

// Room is the size limit of the documents in a run (P28, what is too large fails once). The zero value means
// no limit.
type Room struct {
	Limit   int
	Failing bool // true if services fail so often that every step has an error text
}

// Noon is the default start of a simulation, in Unix milliseconds.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixMilli()

// Visibility, Tick and Day are in milliseconds. Visibility is the visibility timeout, and Tick is the
// interval of the Supervisor. MaxReceive is the largest number of receives of a message.
const (
	Visibility = 30_000
	Tick       = 10_000
	Day        = 86_400_000
	MaxReceive = 8
)

// Scenario is the input of a run.
type Scenario struct {
	Definition *core.Definition
	Services   Services        // services by agent; the workflow's declarations apply to other agents
	Order      json.RawMessage // content of every order; nil means {}
	// Answers holds the value of the answers to a step, by the path of the step: its name, or as in card/check. Each
	// person who may answer gives this value, until the step has enough answers.
	Answers map[string]json.RawMessage
	Only    []Fault // kinds of faults that may happen; nil means all kinds
	Orders  int     // largest number of orders in a run; 0 means 4
	// Alone means that no person interferes with the orders while faults happen.
	Alone bool
	// Begun is the only order of the run, with its past. If Begun is nil, the application submits the orders.
	Begun *Begun

	later *core.Definition
	// definitions to which orders may be moved (P49, move pins another definition); see Variants in
	// simulate/internal/workflows
	others []*core.Definition
	below  []*core.Definition // definitions of child orders, including the targets of their moves
	Forms  map[string][]byte  // encoded definitions, by hash
}

// Simulation is one run.
type Simulation struct {
	Sc      Scenario
	Chooser Chooser
	Def     *core.Definition
	Newer   *core.Definition   // later version of the same workflow
	Defs    []*core.Definition // all definitions that an order may pin (P49): Def, Newer and variants
	Below   []*core.Definition // definitions of child orders (P40, a step can have child orders)

	Start   int64 // time at which the run begins, in Unix milliseconds
	Now     int64 // milliseconds since Start
	Agenda  Agenda
	Cur     *Invocation
	Corpses []*Invocation
	Events  int

	Store     *Store
	Queues    map[string]*Queue
	Names     []string // names of the queues in a fixed order
	Procs     []*Process
	Services  map[string]*Remote
	Agents    []string
	Ledgers   map[string]*Ledger
	AllOrders []*Order
	ByID      map[string]*Order
	Embedded  bool
	// largest number of messages in a queue without a backlog, including the messages in flight (P32, queue
	// time is not a failure)
	Capacity  int
	Long      bool  // true if the phase with faults lasts longer than the services remember keys
	Until     int64 // end of the phase with faults
	Waits     int64 // longest total time of an order's waits
	Through   bool  // true if the phase with faults lasts longer than the orders' waits
	Quiescing bool
	Operating bool  // true if the operator's next turn is scheduled
	SweepAt   int64 // time of the next scheduled sweep; 0 if no sweep is scheduled
	Leases    map[string]memory.Lease
	Answered  map[string]bool // scheduled answers, by order, run, step, round and number of votes
	Traits    map[string]Trait
	Outages   map[string]int64 // end of the time in which the service behind an agent hangs for all callers
	Expired   map[string]int64 // end of the time in which a service refuses an agent's credentials
	Coming    map[string]int64 // end of the time in which a service replies "not yet" to a key
	Room      Room             // size limit of documents
	Shards    int
	Pages     int // index rows per page of the Supervisor; 0 means the Supervisor's default

	Rate    float64
	Enabled [FaultCount]bool
	Nth     map[Occasion]int
	Choices []Choice

	Stats
	Checks    Checks
	Violation *Violation
	Story     []Line
	Tracing   bool
	Hash      uint64
}

// Stats counts events of a run.
type Stats struct {
	Orders int
	Steps  int // number of events
	Hits   [FaultCount]int
	Cells  map[Cell]int
	Ends   map[core.State]int
}

// Cell is one possible fault at one site.
type Cell struct{ Site, Act string }

// Violation is a broken invariant.
type Violation struct {
	Invariant string `json:"invariant"`
	Text      string `json:"text"`
	At        int64  `json:"at"` // milliseconds since the start of the run
}

// String returns the name of the invariant and the text of the violation.
func (v *Violation) String() string { return fmt.Sprintf("%s: %s", v.Invariant, v.Text) }

// Result is the result of a run.
type Result struct {
	Stats
	Violation *Violation
	Hash      uint64 // hash of the run; equal runs have equal hashes
	Choices   []Choice
	Story     []Line // lines of the run; recorded only with Options.Story
	Checks    map[string]int
}

// Options configures a run.
type Options struct {
	Story bool // true if the run records its story
}

// Occasion is the site and the subject of a choice.
type Occasion struct{ site, subject string }

// Counters provides maps for Simulation.Nth. A reused map needs no time to grow.
var Counters = sync.Pool{New: func() any { return map[Occasion]int{} }}

// Choose makes a choice. It records a choice above 0.
func (w *Simulation) Choose(site, subject string, n int, odds float64) int {
	if n < 2 {
		return 0
	}
	nth := w.Nth[Occasion{site, subject}] + 1
	w.Nth[Occasion{site, subject}] = nth
	p := Point{Site: site, Subject: subject, Nth: nth}
	v := w.Chooser.Choose(p, n, odds)
	if v > 0 {
		w.Choices = append(w.Choices, Choice{At: site, Of: subject, Nth: p.Nth, Value: v})
	}
	return v
}

// Spread returns one of 16 evenly spaced numbers from 0 to n-1.
func (w *Simulation) Spread(site, subject string, n int64) int64 {
	const grid = 16
	return int64(w.Choose(site, subject, grid, 0.9)) * n / grid
}

// At schedules a call of do at the time t.
func (w *Simulation) At(t int64, do func()) { w.Agenda.Push(Event{At: max(t, w.Now), Do: do}) }

// After schedules a call of do after d milliseconds.
func (w *Simulation) After(d int64, do func()) { w.At(w.Now+d, do) }

// Bounds of a run.
const (
	MaxSteps  = 200_000
	FaultTime = 30 * 60_000 // usual end of the phase with faults
	MaxTime   = 400 * Day
)
