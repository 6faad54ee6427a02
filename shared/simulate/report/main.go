// Command report runs the simulator's gate of every change and writes its figures: seeds over many
// small workflows, some of them twice, every single fault of the base scenarios, the tapes of the
// corpus, and the exhaustive search at small scope. It fails when anything breaks an invariant.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/simulate"
)

// figures is the report. Its names are promised to scripts.
type figures struct {
	Seeds          int            `json:"seeds"`
	Orders         int            `json:"orders"`
	OrdersPerS     float64        `json:"orders_per_s"` // per core, all checks on
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
	Absent         map[string]int `json:"cells_absent_because"`
	StatesExplored int            `json:"states_explored"`
	ExploredRuns   int            `json:"explored_runs"`
	FaultsPerPath  int            `json:"faults_per_path"`
	ExploredWhole  bool           `json:"explored_whole"`
	PathsLeft      int            `json:"paths_left"`
	Tapes          int            `json:"tapes"`
	Violations     int            `json:"violations"`
	Mutants        int            `json:"mutants"`
	MutantsKilled  int            `json:"mutants_killed"`
	Seconds        float64        `json:"seconds"`
	violations     []string
}

type options struct {
	seeds, pairs, faults int
	explore              time.Duration
	out, mutants, corpus string
}

func main() {
	var o options
	flag.IntVar(&o.seeds, "seeds", 20_000, "`number` of seeds")
	flag.IntVar(&o.pairs, "pairs", 0, "`number` of pairs of faults tried in each base scenario, beside all single ones")
	flag.IntVar(&o.faults, "faults", 2, "most faults on one path of the exhaustive search")
	flag.DurationVar(&o.explore, "explore", 2*time.Minute, "how long the exhaustive search may take")
	flag.StringVar(&o.out, "out", "simulate-report.json", "`file` for the figures")
	flag.StringVar(&o.mutants, "mutants", "mutants.json", "`file` with the figures of the mutants, where there is one")
	flag.StringVar(&o.corpus, "corpus", "shared/simulate/testdata/corpus", "`folder` of tapes")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "simulate-report:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	began := time.Now()
	f := &figures{FaultKinds: len(simulate.Faults()), Invariants: len(simulate.Invariants()), Faults: map[string]int{},
		InvariantsSeen: map[string]int{}, Absent: map[string]int{}, Pairs: o.pairs}
	f.seedsOver(o.seeds)
	fmt.Printf("%d seeds, %d orders, %.0f orders/s on each core, %d of %d kinds of faults\n", f.Seeds, f.Orders, f.OrdersPerS, f.FaultsKindsHit, f.FaultKinds)
	f.twice(min(1000, o.seeds))
	fmt.Printf("%d seeds run twice, %d traces differed\n", f.Reproduced, f.Different)
	f.singles(o.pairs)
	fmt.Printf("%d base scenarios, %d runs, %d of %d cells hit, %d cannot exist\n", f.Scenes, f.Singles, f.CellsHit, f.Cells, f.CellsAbsent)
	if err := f.replay(o.corpus); err != nil {
		return err
	}
	fmt.Printf("%d tapes of the corpus\n", f.Tapes)
	f.search(o)
	fmt.Printf("%d states explored in %d runs with up to %d faults on a path, whole: %v, paths left: %d\n",
		f.StatesExplored, f.ExploredRuns, f.FaultsPerPath, f.ExploredWhole, f.PathsLeft)
	if err := f.readMutants(o.mutants); err != nil {
		return err
	}
	f.Seconds = time.Since(began).Seconds()
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.out, append(data, '\n'), 0o600); err != nil {
		return err
	}
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
	if f.FaultsKindsHit < f.FaultKinds {
		problems = append(problems, fmt.Errorf("%d kinds of faults never happened", f.FaultKinds-f.FaultsKindsHit))
	}
	if f.MutantsKilled < f.Mutants {
		problems = append(problems, fmt.Errorf("%d mutants survive", f.Mutants-f.MutantsKilled))
	}
	return errors.Join(problems...)
}

func (f *figures) broke(what string, v *simulate.Violation) {
	f.Violations++
	if len(f.violations) < 20 {
		f.violations = append(f.violations, fmt.Sprintf("%s: %v", what, v))
	}
}

const drawings = 2000 // different workflows

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
	f.OrdersPerS = speed()
	for _, hits := range f.Faults {
		if hits > 0 {
			f.FaultsKindsHit++
		}
	}
}

// speed is the best of some bursts on one core, so that what else the machine does counts little.
func speed() (best float64) {
	for range 8 {
		began, orders := time.Now(), 0
		for seed := range uint64(500) {
			orders += simulate.Run(scenario(seed), simulate.NewSeeded(seed), simulate.Options{}).Orders
		}
		best = max(best, float64(orders)/time.Since(began).Seconds())
	}
	return best
}

var drawn = func() (all []simulate.Scenario) {
	for n := range uint64(drawings) {
		sc := simulate.Scenario{Definition: simulate.Drawn(n)}
		sc.Prepare()
		all = append(all, sc)
	}
	return all
}()

func scenario(seed uint64) simulate.Scenario { return drawn[seed%drawings] }

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

func (f *figures) singles(pairs int) {
	m := simulate.Singles(simulate.Scenes(), runtime.GOMAXPROCS(0), pairs)
	f.Scenes, f.Singles, f.Cells, f.CellsHit, f.CellsAbsent = m.Scenes, m.Runs, m.Count(), m.Count()-len(m.Missing), len(m.Absent)
	for _, c := range m.Missing {
		fmt.Printf("never hit: %s at %s\n", c.Act, c.Site)
	}
	for _, a := range m.Absent {
		f.Absent[a.Why]++
	}
	for _, b := range m.Broken {
		f.broke(fmt.Sprintf("%s, %+v", b.Scene, b.Choices), b.Violation)
	}
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

func (f *figures) search(o options) {
	e := simulate.Explore(simulate.SmallScope(), o.faults, runtime.GOMAXPROCS(0), o.explore)
	f.StatesExplored, f.ExploredRuns, f.FaultsPerPath, f.ExploredWhole, f.PathsLeft = e.States, e.Runs, e.Faults, e.Whole, e.Left
	for _, b := range e.Broken {
		f.broke(fmt.Sprintf("%s, %+v", b.Scene, b.Choices), b.Violation)
	}
}

// readMutants takes over the figures of the mutants, which are made by a run of their own.
func (f *figures) readMutants(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var m struct {
		Mutants       int `json:"mutants"`
		MutantsKilled int `json:"mutants_killed"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("the figures of the mutants in %s: %w", file, err)
	}
	f.Mutants, f.MutantsKilled = m.Mutants, m.MutantsKilled
	return nil
}
