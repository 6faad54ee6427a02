package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// noon is when a simulation begins that says nothing else, in Unix milliseconds.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixMilli()

// Times of the simulated deployment, in milliseconds.
const (
	visibility = 30_000
	tick       = 10_000
	day        = 86_400_000
	maxReceive = 8
)

// Scenario is what is run.
type Scenario struct {
	Definition *core.Definition
	Services   Services        // by agent; an agent without an entry offers what the workflow says
	Order      json.RawMessage // content of every order; nil: {}
	Only       []Fault         // the faults that may happen; nil: all
	Orders     int             // most orders of a run; 0: 4
	// Alone: no commands are given.
	Alone bool
	// Base sets a scene: a plain course other than "all goes well".
	Base func(p Point) int
	// Begun is the one order of the run, as it stands when the run begins; nil: orders are submitted.
	Begun *Begun

	later  *core.Definition
	others []*core.Definition // to move orders to (P49); see variants
	below  []*core.Definition // definitions of children, and those to move children to
	forms  map[string][]byte  // the definitions as they are stored, by hash
}

// Prepare does once what every run of the scenario needs.
func (sc *Scenario) Prepare() {
	sc.forms = map[string][]byte{}
	for _, d := range slices.Concat(sc.definitions(), sc.families()) {
		if data, err := workflow.Encode(d); err == nil { // else the run itself says what is wrong
			sc.forms[d.Hash] = data
		}
	}
}

// simulation is one run.
type simulation struct {
	sc      Scenario
	chooser Chooser
	def     *core.Definition
	newer   *core.Definition   // the same workflow, deployed later
	defs    []*core.Definition // all that an order may pin (P49): def, newer, and others
	// what children run, and theirs (P40). Where there are any, no model is held against the tasks of the run
	below []*core.Definition

	start       int64 // when the run begins, in Unix milliseconds
	now         int64 // since then
	heap        heap
	cur         *invocation
	corpses     []*invocation
	invocations int
	steps       int

	store    *store
	queues   map[string]*queue
	names    []string // of the queues, in a fixed order
	procs    []*process
	services map[string]*service
	agents   []string
	ledgers  map[string]*ledger
	orders   []*order
	byID     map[string]*order
	embedded bool
	// of agents and Schedulers: more messages than that in a queue, visible and in flight, are a backlog
	// (P32)
	capacity   int
	long       bool  // faults go on for so long that keys are forgotten
	until      int64 // faults happen until then
	waits      int64 // the longest that an order waits, in all its steps that do
	through    bool  // faults go on until the waits are over, and a while longer
	quiescing  bool
	quiescedAt int64 // since when nothing goes wrong any more
	operating  bool  // the operator looks after what has stopped
	sweepAt    int64 // of the next sweep that is planned; 0: none
	leases     map[string]lease
	traits     map[string]trait
	outages    map[string]int64 // until when the service behind an agent hangs for all callers
	expired    map[string]int64 // until when it does not accept the agent's credentials
	coming     map[string]int64 // until when it says "not yet" to a key
	room       model.Room       // what the document of a task may hold
	shards     int
	pages      int // how many rows of the index the Supervisor takes at a time; 0: as it likes

	rate    float64
	enabled [faultCount]bool
	often   *[callCount]float64
	nth     map[point]int
	choices []Choice
	points  []Seen // where a choice was to be made, when they are asked for
	listing bool
	driver  *driver           // of an exploration; nil: time and the chooser decide what is next
	held    map[int][]*letter // of a snapshot: what the handlers hold that stood still, by their number

	Stats
	checks    checks
	violation *Violation
	story     []Line
	tracing   bool
	hash      uint64
}

// Seen is a choice that was to be made, and among how many.
type Seen struct {
	Point
	N int
}

// Stats counts what a run did.
type Stats struct {
	Orders  int
	Steps   int // events
	Commits int
	Hits    [faultCount]int
	Cells   map[Cell]int
	Ends    map[core.State]int
}

// Cell is one place where one thing can go wrong.
type Cell struct{ Site, Act string }

// Violation is a broken invariant.
type Violation struct {
	Invariant string `json:"invariant"`
	Text      string `json:"text"`
	At        int64  `json:"at"` // milliseconds since the start
}

func (v *Violation) String() string { return fmt.Sprintf("%s: %s", v.Invariant, v.Text) }

// Result is what came of a run.
type Result struct {
	Stats
	Violation *Violation
	Hash      uint64 // of the trace: equal for equal runs
	Choices   []Choice
	Points    []Seen // with Options.Points
	Story     []Line // with Options.Story
	Checks    map[string]int
}

// Options of a run.
type Options struct {
	Story  bool // trace what happens, for people
	Points bool // list all choices
}

// Run simulates the scenario with the choices given.
func Run(sc Scenario, c Chooser, o Options) Result {
	w := newSimulation(sc, c)
	w.tracing, w.listing = o.Story, o.Points
	w.setUp()
	w.play()
	w.Stats.Steps = w.steps
	clear(w.nth)
	counters.Put(w.nth)
	w.nth = nil
	return Result{Stats: w.Stats, Violation: w.violation, Hash: w.hash, Choices: w.choices, Points: w.points,
		Story: w.story, Checks: w.checks.counted()}
}

// point is where choices are made, and about what.
type point struct{ site, subject string }

// counters are maps for simulation.nth that another world has left: they have grown already.
var counters = sync.Pool{New: func() any { return map[point]int{} }}

// choose makes a choice and remembers it where it is not the plain course.
func (w *simulation) choose(site, subject string, n int, odds float64) int {
	if n < 2 || w.driver != nil && w.driver.marks != nil { // which does the rest, once the world is set up
		return 0
	}
	nth := w.nth[point{site, subject}] + 1
	w.nth[point{site, subject}] = nth
	p := Point{Site: site, Subject: subject, Nth: nth}
	v := w.chooser.Choose(p, n, odds)
	if v == 0 && w.sc.Base != nil {
		v = min(w.sc.Base(p), n-1)
	}
	if w.listing {
		w.points = append(w.points, Seen{Point: p, N: n})
	}
	if v > 0 {
		w.choices = append(w.choices, Choice{At: site, Of: subject, Nth: p.Nth, Value: v})
	}
	return v
}

// inject chooses what goes wrong at a call, mostly nothing.
func (w *simulation) inject(r role, c call, subject string) act {
	switch {
	case w.driver != nil:
		return w.driver.inject(r, c, subject)
	case w.quiescing:
		return act{}
	}
	acts, site := actsAt[c], sites[r][c]
	v := w.choose(site, subject, len(acts)+1, min(0.5, w.rate*w.often[c]))
	if v == 0 {
		return act{}
	}
	a := acts[v-1]
	last := &w.choices[len(w.choices)-1]
	// The first document of a child is too large each time that it is asked for, or never.
	child := a.fault == ItemTooLarge && strings.Contains(subject, "~")
	if !w.enabled[a.fault] || !w.possible(r, c, a) || child {
		w.choices = w.choices[:len(w.choices)-1]
		return act{}
	}
	last.What = a.String()
	w.Hits[a.fault]++
	w.Cells[Cell{site, a.String()}]++
	return a
}

// latency is how long one half of a call takes.
func (w *simulation) latency(c call, subject string) int64 {
	switch {
	case w.driver != nil:
		return 0
	case w.quiescing:
		return 1
	}
	return 1 + delays[w.choose("latency", subject, len(delays), 0.15)]
}

// spread is a number below n; 0 is the plain course.
func (w *simulation) spread(site, subject string, n int64) int64 {
	const grid = 16
	return int64(w.choose(site, subject, grid, 0.9)) * n / grid
}

func (w *simulation) at(t int64, do func()) {
	if w.driver != nil { // which decides itself what happens next
		return
	}
	w.heap.push(event{at: max(t, w.now), do: do})
}

func (w *simulation) after(d int64, do func()) { w.at(w.now+d, do) }

// Bounds of a run.
const (
	maxSteps  = 200_000
	faultTime = 30 * 60_000 // faults happen until then, or for as long as keys are remembered, several times
	maxTime   = 400 * day
)

// play lets everything happen: first with faults, then without until all is at its end.
func (w *simulation) play() {
	for w.violation == nil {
		if len(w.heap.events) == 0 {
			if !w.quiescing {
				w.quiesce()
				continue
			}
			if w.restless() {
				w.violate("5", "nothing happens any more, and there are orders without an end: %s",
					w.unended())
			}
			break
		}
		if w.steps++; w.steps > maxSteps || w.now > maxTime+w.waits {
			w.violate("5", "after %d events and %s without faults there are orders without an end: %s",
				w.steps, time.Duration(w.now)*time.Millisecond, w.unended())
			break
		}
		w.next()
	}
	w.stop()
	if w.violation == nil {
		w.audit()
	}
}

// next lets the next event happen.
func (w *simulation) next() {
	e := w.heap.pop()
	w.now = max(w.now, e.at)
	if !w.quiescing && w.now > w.until && !w.outlasts() {
		w.quiesce()
	}
	switch {
	case e.iv == nil:
		e.do()
	case !e.iv.dead:
		w.resume(e.iv)
	}
	w.bury()
	w.check()
}

// stop ends all handlers.
func (w *simulation) stop() {
	for _, p := range w.procs {
		for _, iv := range p.running {
			iv.dead = true
			w.corpses = append(w.corpses, iv)
		}
		p.running = nil // so that a process that is killed meanwhile buries none of them again
	}
	w.bury()
}

// quiesce ends the faults.
func (w *simulation) quiesce() {
	w.quiescing, w.quiescedAt = true, w.now
	w.trace("world", "", "the faults are over")
	if !w.operating {
		w.operate()
	}
}

// note adds to the trace's hash.
func (w *simulation) note(c call, subject string, p *process, f Fault) {
	const prime = 1099511628211
	h := w.hash ^ uint64(w.now) //nolint:gosec // a hash
	h = (h*prime ^ uint64(c)<<8 ^ uint64(f)) * prime
	for i := 0; i < len(subject); i++ {
		h = (h ^ uint64(subject[i])) * prime
	}
	for i := 0; i < len(p.name); i++ {
		h = (h ^ uint64(p.name[i])) * prime
	}
	w.hash = h
}
