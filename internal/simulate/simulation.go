package simulate

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

	prepared *prepared
}

// Simulation is one run.
type Simulation struct {
	*prepared
	Result
	Sc      Scenario
	Chooser Chooser
	Def     *core.Definition

	Start   int64 // time at which the run begins, in Unix milliseconds
	Now     int64 // milliseconds since Start
	Agenda  Agenda
	Cur     *Invocation
	Corpses []*Invocation

	Store     *Store
	Queues    map[string]*Queue
	Names     []string // names of the queues in a fixed order
	Procs     []*Process
	Services  map[string]*Remote
	Agents    []string
	Ledgers   map[string]*memory.Ledger // ledger tables of the agents (P31), which all instances share
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
	Leases    *memory.Leases
	Answered  map[string]bool // scheduled answers, by order, run, step, round and number of votes
	Traits    map[string]Trait
	Outages   map[string]int64 // end of the time in which the service behind an agent hangs for all callers
	Expired   map[string]int64 // end of the time in which a service refuses an agent's credentials
	Coming    map[string]int64 // end of the time in which a service replies "not yet" to a key
	Room      Room             // size limit of documents
	Pages     int              // index rows per page of the Supervisor; 0 means the Supervisor's default

	Rate    float64
	Enabled map[Fault]bool
	Nth     map[Occasion]int
	Tracing bool
}

// Stats counts what happened in one or more runs.
type Stats struct {
	Orders int                `json:"orders"`
	Events int                `json:"events"`
	Faults map[Fault]int      `json:"faults"`     // number of injected faults, by kind
	Cells  map[string]int     `json:"cells"`      // number of occurrences of each cell
	Checks map[string]int     `json:"invariants"` // number of checks, by invariant
	Ends   map[core.State]int `json:"ends"`       // number of handlerEnded orders, by state
}

// NewStats returns Stats in which nothing has happened.
func NewStats() Stats {
	return Stats{Faults: map[Fault]int{}, Cells: map[string]int{}, Checks: map[string]int{}, Ends: map[core.State]int{}}
}

// Add adds what happened in other runs.
func (s *Stats) Add(o Stats) {
	s.Orders += o.Orders
	s.Events += o.Events
	add(s.Faults, o.Faults)
	add(s.Cells, o.Cells)
	add(s.Checks, o.Checks)
	add(s.Ends, o.Ends)
}

func add[K comparable](all, more map[K]int) {
	for k, n := range more {
		all[k] += n
	}
}

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
	Story     []Line // lines of the run, recorded only if asked for
}

// Occasion is the site and the subject of a choice.
type Occasion struct{ site, subject string }

// counters provides maps for Simulation.Nth. A reused map needs no time to grow.
var counters = sync.Pool{New: func() any { return map[Occasion]int{} }}

// Release ends the use of a simulation that makes no choices any more.
func (w *Simulation) Release() {
	clear(w.Nth)
	counters.Put(w.Nth)
	w.Nth = nil
}

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
