package explore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate"
)

const (
	gateSeeds  = 8000 // unless -seeds says otherwise
	drawings   = 2000 // different workflows
	twiceSeeds = 1000 // run again, to compare
)

// Flags of the gate, after -args. `make simulate-report` has the defaults, `make simulate-nightly` more.
var (
	seeds  = flag.Int("seeds", gateSeeds, "`number` of seeds of TestDrawnWorkflows")
	pairs  = flag.Int("pairs", 0, "`number` of pairs of faults that TestSingleFaults tries in each base scenario")
	faults = flag.Int("faults", 1, "most faults on one path of TestSmallScope")
	most   = flag.Duration("explore", 0, "how long TestSmallScope goes through all small worlds (default: some, shortly)")
)

// onAllCores runs the function once on each core, and waits for all.
func onAllCores(work func()) {
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(work)
	}
	all.Wait()
}

// TestDrawnWorkflows runs seeds over many small workflows, some of them twice.
func TestDrawnWorkflows(t *testing.T) {
	defer simulate.Spacious()()
	n := *seeds
	if testing.Short() {
		n = min(n, 960)
	}
	drawn := make([]func() simulate.Scenario, drawings)
	for i := range drawn {
		drawn[i] = sync.OnceValue(func() simulate.Scenario {
			sc := simulate.Scenario{Definition: drawnWorkflow(uint64(i))}
			sc.Prepare()
			return sc
		})
	}
	began := time.Now()
	var next atomic.Int64
	var mu sync.Mutex
	var total simulate.Stats
	checks := map[string]int{}
	bad := 0
	onAllCores(func() {
		for seed := next.Add(1) - 1; seed < int64(n); seed = next.Add(1) - 1 {
			sc := drawn[seed%drawings]()
			r := simulate.Run(sc, simulate.NewSeeded(uint64(seed)), simulate.Options{})
			again := r
			if seed < twiceSeeds {
				again = simulate.Run(sc, simulate.NewSeeded(uint64(seed)), simulate.Options{})
			}
			mu.Lock()
			total.Orders += r.Orders
			for f, h := range r.Hits {
				total.Hits[f] += h
			}
			for name, n := range r.Checks {
				checks[name] += n
			}
			if again.Hash != r.Hash {
				t.Errorf("seed %d gave another run the second time", seed)
			}
			if r.Violation != nil {
				if bad++; bad < 20 {
					t.Errorf("workflow %d, seed %d: %v", seed%drawings, seed, r.Violation)
				}
			}
			mu.Unlock()
		}
	})
	for _, f := range simulate.Faults() {
		require.NotZero(t, total.Hits[f], "%+v", f)
	}
	for _, i := range simulate.Invariants() {
		require.NotZero(t, checks[i.Name], i.Name)
		delete(checks, i.Name)
	}
	require.Empty(t, checks, "checked, and not listed")
	t.Logf("%d seeds, %d orders, %.0f orders/s", n, total.Orders, float64(total.Orders)/time.Since(began).Seconds())
}

// TestTapes plays runs that seeds meet too rarely. Each in testdata is named after the rule that it needs, and ends
// with a violation if the rule is taken out; those of the corpus are former counterexamples.
func TestTapes(t *testing.T) {
	for _, folder := range []string{"testdata", "../../testdata/corpus"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				tape, err := simulate.ReadTape(file)
				require.NoError(t, err)
				run, err := tape.Play(simulate.Options{})
				require.NoError(t, err)
				require.Nil(t, run.Violation)
			})
		}
	}
}

// TestSmallScope goes through everything that can happen in the small worlds, as far as there is time.
func TestSmallScope(t *testing.T) {
	scopes := smallScopes()
	limit := *most
	if limit == 0 { // a sample of them
		scopes = append(scopes[:3], scopes[30:34]...)
		limit = 10 * time.Second
		if testing.Short() {
			limit = time.Second
		}
	}
	all, found := explore(scopes, *faults, limit)
	for i, f := range found {
		if i < 5 {
			t.Errorf("%s: %v\n%s", f.Scope, f.Violation, strings.Join(f.Path, "\n"))
		}
	}
	states := 0
	for _, s := range all {
		states += s.States
		require.GreaterOrEqual(t, s.Whole, 0, s.Name)
		t.Log(s)
	}
	require.Greater(t, states, 1000)
}

// TestSimulatorPageShowsTheGate: docs/reference/simulator.md names the runs that the gate makes, and as many scenarios,
// cells and worlds as there are.
func TestSimulatorPageShowsTheGate(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/simulator.md")
	require.NoError(t, err)
	makefile, err := os.ReadFile("../../../Makefile")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(text)), " ") // the page wraps its lines
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	_, after, _ := strings.Cut(string(makefile), "-pairs ")
	nightly := 0
	_, err = fmt.Sscan(after, &nightly)
	require.NoError(t, err)
	cells, cannot := cells()
	for _, want := range []string{
		fmt.Sprintf("%s runs over %s drawn workflows", thousands(gateSeeds), thousands(drawings)),
		fmt.Sprintf("%s of them twice", thousands(twiceSeeds)),
		fmt.Sprintf("The nightly run adds %s pairs", thousands(nightly)),
		fmt.Sprintf("single call of %d base scenarios", len(scenes())),
		fmt.Sprintf("All places and all %d cells are hit. %d cells cannot exist", len(cells), len(cannot)),
		fmt.Sprintf("in %d small worlds", len(smallScopes())),
	} {
		require.Contains(t, page, want)
	}
}
