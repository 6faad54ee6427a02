package explore

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/simulate"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// figures is the report. Its names are promised to scripts.
type figures struct {
	Seeds  int `json:"seeds"`
	Orders int `json:"orders"`
	// orders per second of processor time on one core, with all checks on and garbage collection included
	OrdersPerS float64 `json:"orders_per_s"`
	// orders per second of elapsed time, one run at a time
	OrdersPerWallS float64        `json:"orders_per_wall_s"`
	FaultKinds     int            `json:"faults_kinds"`
	FaultsKindsHit int            `json:"faults_kinds_hit"`
	Faults         map[string]int `json:"faults"`
	Invariants     int            `json:"invariants"`
	InvariantsSeen map[string]int `json:"invariants_checked"`
	Reproduced     int            `json:"seeds_run_twice"`
	Different      int            `json:"traces_that_differed"`
	Scenes         int            `json:"base_scenarios"`
	Singles        int            `json:"single_fault_runs"`
	Pairs          int            `json:"pairs_per_scenario"`
	Cells          int            `json:"cells"`
	CellsHit       int            `json:"cells_hit"`
	CellsAbsent    int            `json:"cells_that_cannot_exist"`
	Absent         []absentCell   `json:"cells_absent"`
	Places         int            `json:"places"` // scenario × call × fault
	PlacesHit      int            `json:"places_hit"`
	PlacesCannot   map[string]int `json:"places_that_cannot_be_hit_because"`
	StatesExplored int            `json:"states_explored"`
	ExploredSteps  int            `json:"explored_steps"`
	ExploredRuns   int            `json:"explored_runs"`
	ExploredEnds   int            `json:"explored_ends"`
	FaultsPerPath  int            `json:"faults_per_path"` // covered whole in every scope
	MostFaults     int            `json:"most_faults_per_path"`
	PathsLeft      int            `json:"paths_left"`
	Worlds         int            `json:"small_worlds"`
	// worlds explored completely, by number of faults on a path
	WorldsWhole  map[int]int `json:"small_worlds_whole"`
	Scopes       []Explored  `json:"explored"`
	Shrunk       []shrunk    `json:"shrunk"`
	ShrunkMedian int         `json:"shrunk_median"` // choices on the tape
	Tapes        int         `json:"tapes"`
	Violations   int         `json:"violations"`
	Seconds      float64     `json:"seconds"`
	violations   []string
}

// absentCell is a cell that cannot exist.
type absentCell struct {
	Site  string `json:"site"`
	Fault string `json:"fault"`
	Why   string `json:"why"`
}

type options struct {
	seeds, pairs, faults int
	explore              time.Duration
	out, corpus          string
	cells                string
}

var asked options

func init() {
	flag.IntVar(&asked.seeds, "seeds", gateSeeds, "`number` of seeds of the report")
	flag.IntVar(&asked.pairs, "pairs", 0,
		"`number` of pairs of faults tried in each base scenario, beside all single ones")
	flag.IntVar(&asked.faults, "faults", 2, "most faults on one path of the report's exploration")
	flag.StringVar(&asked.cells, "cells", "",
		"`file` for all cells and places with their hits, one on a line (default: none)")
	flag.DurationVar(&asked.explore, "explore", 0,
		"how long the report's exploration may take; twice that on a busy machine (default: none)")
	flag.StringVar(&asked.out, "report", "", "`file` for the figures; TestReport makes none without it")
	flag.StringVar(&asked.corpus, "corpus", "../../testdata/corpus", "`folder` of tapes")
}

// TestReport is the simulator's gate of every change, and writes its figures: seeds over many small
// workflows, some of them twice, every single fault of the base scenarios, and the tapes of the corpus. With
// -explore it also goes through everything that can happen in small worlds. `make simulate-report` runs it
// without, `make simulate-nightly` with. It fails when anything breaks an invariant.
func TestReport(t *testing.T) {
	if asked.out == "" {
		t.Skip("make simulate-report writes the report")
	}
	if err := run(asked); err != nil {
		t.Error(err)
	}
}

func run(o options) error {
	began := time.Now()
	f := &figures{
		FaultKinds: len(simulate.Faults()), Invariants: len(simulate.Invariants()),
		Faults:         map[string]int{},
		InvariantsSeen: map[string]int{}, PlacesCannot: map[string]int{}, Pairs: o.pairs,
	}
	doing := func(what string) { fmt.Fprintf(os.Stderr, "%4.0f s: %s\n", time.Since(began).Seconds(), what) }
	// back restores the collector's setting before the exploration, which keeps much memory.
	back := simulate.Spacious()
	doing(fmt.Sprintf("%d seeds", o.seeds))
	f.seedsOver(o.seeds)
	fmt.Printf(
		"%d seeds, %d orders, %.0f orders/s on each core (%.0f by the clock), %d of %d kinds of faults\n",
		f.Seeds, f.Orders, f.OrdersPerS, f.OrdersPerWallS, f.FaultsKindsHit, f.FaultKinds)
	doing("the same seeds twice")
	f.twice(min(twiceSeeds, o.seeds))
	fmt.Printf("%d seeds run twice, %d traces differed\n", f.Reproduced, f.Different)
	doing("every single fault of the base scenarios")
	if err := f.singles(o); err != nil {
		return err
	}
	fmt.Printf(
		"%d base scenarios, %d runs, %d of %d cells (call × fault) hit, %d cannot exist; %d of %d places "+
			"(scenario × call × fault) hit\n",
		f.Scenes, f.Singles, f.CellsHit, f.Cells, f.CellsAbsent, f.PlacesHit, f.Places)
	doing("the tapes")
	if err := f.replay(o.corpus); err != nil {
		return err
	}
	fmt.Printf("%d tapes of the corpus\n", f.Tapes)
	doing("wrong services, to shrink what they break")
	f.shrink()
	fmt.Printf("%d wrong services found; after shrinking a median of %d choices\n", len(f.Shrunk),
		f.ShrunkMedian)
	back()
	if o.explore > 0 {
		doing(fmt.Sprintf("exploration, for %s", o.explore))
		f.explore(o)
		fmt.Printf(
			"%d states explored (%d steps, %d ends, %d runs): everything with up to %d faults on a path, %s\n",
			f.StatesExplored, f.ExploredSteps, f.ExploredEnds, f.ExploredRuns, f.FaultsPerPath, f.bounds())
	}
	f.Seconds = time.Since(began).Seconds()
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.out, append(data, '\n'), 0o600); err != nil {
		return err
	}
	fmt.Printf("%d violations, in %.0f s; all figures are in %s\n", f.Violations, f.Seconds, o.out)
	return f.verdict()
}

func (f *figures) verdict() error {
	var problems []error
	for _, v := range f.violations {
		problems = append(problems, errors.New(v))
	}
	if f.Different > 0 {
		problems = append(problems, fmt.Errorf("%d seeds gave another run the second time", f.Different))
	}
	if f.CellsHit < f.Cells {
		problems = append(problems, fmt.Errorf("%d cells were never hit", f.Cells-f.CellsHit))
	}
	if f.PlacesHit < f.Places {
		problems = append(problems, fmt.Errorf("%d places were never hit, and nothing says why",
			f.Places-f.PlacesHit))
	}
	if f.FaultsPerPath < 0 {
		problems = append(problems,
			errors.New(
				"the exploration did not even cover what happens without faults; give it more time with "+
					"-explore"))
	}
	if f.ShrunkMedian > 10 {
		problems = append(problems, fmt.Errorf("counterexamples shrink to %d choices, 10 are the most",
			f.ShrunkMedian))
	}
	if f.FaultsKindsHit < f.FaultKinds {
		problems = append(problems,
			fmt.Errorf("%d kinds of faults never happened", f.FaultKinds-f.FaultsKindsHit))
	}
	return errors.Join(problems...)
}

func (f *figures) broke(what string, v *simulate.Violation) {
	f.Violations++
	if len(f.violations) < 20 {
		f.violations = append(f.violations, fmt.Sprintf("%s: %v", what, v))
	}
}

const (
	gateSeeds  = 8000 // unless set otherwise
	drawings   = 2000 // different workflows
	twiceSeeds = 1000 // run again, to compare
)

// seedsOver runs seeds over drawn workflows.
func (f *figures) seedsOver(n int) {
	var next atomic.Int64
	var mu sync.Mutex
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				seed := uint64(i) //nolint:gosec // not negative
				r := simulate.Run(scenario(seed), simulate.NewSeeded(seed), simulate.Options{})
				mu.Lock()
				f.add(seed, &r)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	f.OrdersPerS, f.OrdersPerWallS = speed()
	for _, hits := range f.Faults {
		if hits > 0 {
			f.FaultsKindsHit++
		}
	}
}

// speed is the best of some bursts, one run at a time, so that what else the machine does counts
// little: in orders per second of processor time, all that the process used meanwhile, and per second
// by the clock, which lets the garbage collector have another core. Where the system does not report it
// the processor time both are the latter.
func speed() (core, wall float64) {
	for range 3 {
		began := time.Now()
		cpu := cpuTime()
		orders := 0
		for seed := range uint64(500) {
			orders += simulate.Run(scenario(seed), simulate.NewSeeded(seed), simulate.Options{}).Orders
		}
		cpu = cpuTime() - cpu
		wall = max(wall, float64(orders)/time.Since(began).Seconds())
		if cpu > 0 {
			core = max(core, float64(orders)/cpu.Seconds())
		}
	}
	return cmp.Or(core, wall), wall
}

var drawn = sync.OnceValue(func() (all []simulate.Scenario) {
	for n := range uint64(drawings) {
		all = append(all, drawnScenario(n))
	}
	return all
})

func scenario(seed uint64) simulate.Scenario { return drawn()[seed%drawings] }

func (f *figures) add(seed uint64, r *simulate.Result) {
	f.Seeds++
	f.Orders += r.Orders
	for _, kind := range simulate.Faults() {
		f.Faults[kind.String()] += r.Hits[kind]
	}
	for name, n := range r.Checks {
		f.InvariantsSeen[name] += n
	}
	if r.Violation != nil {
		f.broke(fmt.Sprintf("workflow %d, seed %d", seed%drawings, seed), r.Violation)
	}
}

// twice holds runs against themselves.
func (f *figures) twice(n int) {
	for seed := range uint64(n) { //nolint:gosec // positive
		a := simulate.Run(scenario(seed), simulate.NewSeeded(seed), simulate.Options{})
		b := simulate.Run(scenario(seed), simulate.NewSeeded(seed), simulate.Options{})
		f.Reproduced++
		if a.Hash != b.Hash {
			f.Different++
		}
	}
}

func (f *figures) singles(o options) error {
	m := singles(scenes(), runtime.GOMAXPROCS(0), o.pairs)
	f.Scenes = m.Scenes
	f.Singles = m.Runs
	f.Cells = world.CellCount(nil)
	f.CellsHit = world.CellCount(nil) - len(m.Missing)
	f.CellsAbsent = len(m.Absent)
	for _, c := range m.Missing {
		fmt.Printf("never hit: %s at %s\n", c.Act, c.Site)
	}
	for _, a := range m.Absent {
		f.Absent = append(f.Absent, absentCell{a.Site, a.Act, a.Why})
	}
	for _, a := range m.Wrong {
		f.broke("base scenarios", &simulate.Violation{
			Invariant: "cells",
			Text:      fmt.Sprintf("%s at %s was hit, and cannot exist: %s", a.Act, a.Site, a.Why),
		})
	}
	for _, p := range m.Places {
		switch {
		case p.Why != "":
			f.PlacesCannot[p.Why]++
			continue
		case p.Hits > 0:
			f.PlacesHit++
		}
		f.Places++
	}
	for _, b := range m.Broken {
		f.broke(fmt.Sprintf("%s, %+v", b.Scene, b.Choices), b.Violation)
	}
	if o.cells == "" {
		return nil
	}
	return writeCells(o.cells, m)
}

// writeCells lists everything that was tried, and why the rest cannot be: columns with tabs between.
func writeCells(file string, m *Matrix) error {
	var lines []string
	for c, n := range m.Cells {
		lines = append(lines, fmt.Sprintf("cell\t%s\t%s\t%d\t", c.Site, c.Act, n))
	}
	for _, a := range m.Absent {
		lines = append(lines, fmt.Sprintf("cell\t%s\t%s\t0\t%s", a.Site, a.Act, a.Why))
	}
	for _, p := range m.Places {
		lines = append(lines, fmt.Sprintf("place\t%s\t%s %s %d\t%s\t%d\t%s", p.Scene, p.Choice.At,
			p.Choice.Of, p.Choice.Nth, p.Choice.What, p.Hits, p.Why))
	}
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (f *figures) replay(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		tape, err := simulate.ReadTape(file)
		if err != nil {
			return err
		}
		r, err := tape.Play(simulate.Options{})
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		f.Tapes++
		if r.Violation != nil {
			f.broke(file, r.Violation)
		}
	}
	return nil
}

func (f *figures) explore(o options) {
	e := explore(smallScopes(), o.faults, runtime.GOMAXPROCS(0), o.explore,
		func(e *Exploration) {
			fmt.Fprintf(os.Stderr, "\r%d states explored so far ", e.States)
		})
	fmt.Fprintln(os.Stderr)
	f.StatesExplored = e.States
	f.ExploredSteps = e.Steps
	f.ExploredRuns = e.Runs
	f.ExploredEnds = e.Ends
	f.PathsLeft = e.Left
	f.Scopes = e.Scopes
	f.FaultsPerPath = o.faults
	f.MostFaults = -1
	f.Worlds = len(e.Scopes)
	f.WorldsWhole = map[int]int{}
	for n := range o.faults + 1 {
		f.WorldsWhole[n] = 0
	}
	for _, s := range e.Scopes {
		f.FaultsPerPath = min(f.FaultsPerPath, s.Whole)
		f.MostFaults = max(f.MostFaults, s.Whole)
		for n := range s.Whole + 1 {
			f.WorldsWhole[n]++
		}
		fmt.Println(s)
	}
	for i, b := range e.Found {
		f.broke(b.Scope, b.Violation)
		fmt.Println(strings.Join(b.Path, "\n"))
		file := filepath.Join(filepath.Dir(o.out), fmt.Sprintf("explored-%d.json", i+1))
		if err := b.write(file); err == nil {
			fmt.Printf("replay: go test ./simulate/internal/explore -run TestReplay -v -args -replay %s\n", file)
		}
	}
}

// bounds says how many scopes were covered with how many faults.
func (f *figures) bounds() string {
	var parts []string
	for n := range f.MostFaults + 1 {
		parts = append(parts, fmt.Sprintf("%d with %d", f.WorldsWhole[n], n))
	}
	return fmt.Sprintf("of %d small worlds %s; %d branches left", f.Worlds, strings.Join(parts, ", "),
		f.PathsLeft)
}

func drawnScenario(n uint64) simulate.Scenario {
	sc := simulate.Scenario{Definition: drawnWorkflow(n)}
	sc.Prepare()
	return sc
}
