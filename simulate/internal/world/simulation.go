// Package world holds the state of one run: time, choices and faults, the content of stores, queues and
// services, the reads of each handler, and the violations. It decides nothing that an actor decides.
package world

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// Begun is an order with a past at the beginning of a run. No step of the order is in flight.
type Begun struct {
	Task *core.Task // task of the order "o1"; never changed
	At   core.Time  // time at which the run begins
}

// Noon is the default start of a simulation, in Unix milliseconds.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixMilli()

// Times of the simulated deployment, in milliseconds.
const (
	Visibility = 30_000
	Tick       = 10_000
	Day        = 86_400_000
	MaxReceive = 8
)

// Scenario is the input of a run.
type Scenario struct {
	Definition *core.Definition
	Services   Services        // services by agent; the workflow's declaration applies to other agents
	Order      json.RawMessage // content of every order; nil means {}
	// Answers holds, by step, the value with which people or an event soon answer. Each eligible person gives
	// it, until there are enough answers.
	Answers map[string]json.RawMessage
	Only    []Fault // faults that may happen; nil means all
	Orders  int     // most orders of a run; 0 means 4
	// Alone means that the run has no commands.
	Alone bool
	// Base returns the choice that replaces 0 at a point, so that the normal course can contain faults.
	Base func(p Point) int
	// Begun is the one order of the run, with its state when the run begins. If it is nil, the application
	// submits orders.
	Begun *Begun

	later *core.Definition
	// definitions to move orders to (P49, move pins another definition); see variants
	others []*core.Definition
	below  []*core.Definition // definitions of children, and targets of their Moves
	Forms  map[string][]byte  // the stored forms of definitions, by hash
}

// Simulation is one run.
type Simulation struct {
	Sc      Scenario
	Chooser Chooser
	Def     *core.Definition
	Newer   *core.Definition   // the same workflow, deployed later
	Defs    []*core.Definition // all definitions that an order may pin (P49): Def, Newer and others
	// definitions of children and their children (P40, a step can have child orders); if there are any, the
	// run does not compare its tasks with the model
	Below []*core.Definition

	Start       int64 // time at which the run begins, in Unix milliseconds
	Now         int64 // milliseconds since then
	Agenda      Agenda
	Cur         *Invocation
	Corpses     []*Invocation
	Invocations int
	Events      int

	Store     *Store
	Queues    map[string]*Queue
	Names     []string // names of the queues, in a fixed order
	Procs     []*Process
	Services  map[string]*Remote
	Agents    []string
	Ledgers   map[string]*Ledger
	AllOrders []*Order
	ByID      map[string]*Order
	Embedded  bool
	// backlog threshold of agents and Schedulers: messages in a queue, visible and in flight (P32, queue time
	// is not a failure)
	Capacity   int
	Long       bool  // faults go on longer than the services remember keys
	Until      int64 // faults happen until then
	Waits      int64 // the longest total time of an order's waits
	Through    bool  // faults go on until the waits are over, and a while longer
	Quiescing  bool
	QuiescedAt int64 // time at which faults ended
	Operating  bool  // the operator handles stopped orders
	SweepAt    int64 // time of the next planned sweep; 0 if none is planned
	Leases     map[string]memory.Lease
	Answered   map[string]bool // scripted answers that are on their way, by order, run, step, round and votes
	Traits     map[string]Trait
	Outages    map[string]int64 // end of a hang of the service behind an agent, for all callers
	Expired    map[string]int64 // time until which the service behind an agent rejects its credentials
	Coming     map[string]int64 // time until which the service replies "not yet" to a key
	Room       model.Room       // limit of a task's document
	Shards     int
	Pages      int // rows of the index per page of the Supervisor; 0 means its default

	Rate    float64
	Enabled [FaultCount]bool
	Often   *[CallCount]float64
	Nth     map[Occasion]int
	Choices []Choice
	Points  []Point // points at which choices were made, if Listing is set
	Listing bool
	Driver  Driver // driver of an exploration; nil if time and the chooser drive the run

	Stats
	Checks    Checks
	Violation *Violation
	Story     []Line
	Tracing   bool
	Hash      uint64
}

// Driver decides which event comes next and which fault occurs, instead of time and the chooser. Calls then
// take no time. The exploration, which is test code, implements Driver.
type Driver interface {
	// Turn runs other handlers before a handler makes its call. It reports whether the handler is still
	// alive.
	Turn(iv *Invocation, c Call, subject string) bool
	// Fault returns the fault of a call.
	Fault(r Role, c Call, subject string) Act
	// Answered records the result of a call.
	Answered(iv *Invocation, c Call, subject string, wrong Fault, err error)
	// Adrift records a call whose caller has given up. It may arrive at any time.
	Adrift(c worker.Call)
	// Ready reports whether the world is set up, so that nothing is drawn any more.
	Ready() bool
}

// Stats counts what a run did.
type Stats struct {
	Orders  int
	Steps   int // events
	Commits int
	Hits    [FaultCount]int
	Cells   map[Cell]int
	Ends    map[core.State]int
}

// Cell is one possible fault at one site.
type Cell struct{ Site, Act string }

// Violation is a broken invariant.
type Violation struct {
	Invariant string `json:"invariant"`
	Text      string `json:"text"`
	At        int64  `json:"at"` // milliseconds since the start
}

// String returns the invariant's name and the violation.
func (v *Violation) String() string { return fmt.Sprintf("%s: %s", v.Invariant, v.Text) }

// Result is the result of a run.
type Result struct {
	Stats
	Violation *Violation
	Hash      uint64 // hash of the trace, equal for equal runs
	Choices   []Choice
	Story     []Line // with Options.Story
	Checks    map[string]int
}

// Options of a run.
type Options struct {
	Story bool // trace what happens, for people
}

// Occasion is a site at which choices are made, and their subject.
type Occasion struct{ site, subject string }

// Counters reuses the maps of Simulation.Nth, so that the map of a new world does not have to grow.
var Counters = sync.Pool{New: func() any { return map[Occasion]int{} }}

// Choose makes a choice, and records it unless it is 0.
func (w *Simulation) Choose(site, subject string, n int, odds float64) int {
	// a driver makes all choices itself once the world is set up
	if n < 2 || w.Driver != nil && w.Driver.Ready() {
		return 0
	}
	nth := w.Nth[Occasion{site, subject}] + 1
	w.Nth[Occasion{site, subject}] = nth
	p := Point{Site: site, Subject: subject, Nth: nth}
	v := w.Chooser.Choose(p, n, odds)
	if v == 0 && w.Sc.Base != nil {
		v = min(w.Sc.Base(p), n-1)
	}
	if w.Listing {
		w.Points = append(w.Points, p)
	}
	if v > 0 {
		w.Choices = append(w.Choices, Choice{At: site, Of: subject, Nth: p.Nth, Value: v})
	}
	return v
}

// Spread returns a number below n. 0 is the normal course.
func (w *Simulation) Spread(site, subject string, n int64) int64 {
	const grid = 16
	return int64(w.Choose(site, subject, grid, 0.9)) * n / grid
}

// At calls do at a time, unless an exploration decides what happens next.
func (w *Simulation) At(t int64, do func()) {
	if w.Driver != nil { // The driver itself decides what happens next.
		return
	}
	w.Agenda.Push(Event{At: max(t, w.Now), Do: do})
}

// After calls do after d milliseconds.
func (w *Simulation) After(d int64, do func()) { w.At(w.Now+d, do) }

// Bounds of a run.
const (
	MaxSteps  = 200_000
	FaultTime = 30 * 60_000 // faults happen until then, or for several times the retention of keys
	MaxTime   = 400 * Day
)
