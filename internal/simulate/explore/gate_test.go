// Package explore runs the gate of the simulator: many runs of drawn workflows, and what they must not find.
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

	"github.com/stepkeeper/stepkeeper/internal/simulate"
)

const (
	gateSeeds  = 8000 // unless -seeds says otherwise
	drawings   = 2000 // different workflows
	twiceSeeds = 500  // played again by their tapes
	courses    = 50   // runs in which every single fault is tried
)

// Flags of the gate, after -args. `make simulate-report` has the defaults, `make simulate-nightly` more.
var (
	seeds = flag.Int("seeds", gateSeeds, "`number` of seeds of TestDrawnWorkflows")
	pairs = flag.Int("pairs", 0, "`number` of pairs of faults that TestSingleFaults tries in each course")
)

// onAllCores runs the function once on each core, and waits for all.
func onAllCores(work func()) {
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(work)
	}
	all.Wait()
}

// TestDrawnWorkflows runs seeds over many small workflows, and plays the tapes of some.
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
	total := simulate.NewStats()
	bad := 0
	onAllCores(func() {
		for seed := next.Add(1) - 1; seed < int64(n); seed = next.Add(1) - 1 {
			sc := drawn[seed%drawings]()
			r := simulate.Run(sc, simulate.NewSeeded(uint64(seed)))
			again := r
			if seed < twiceSeeds {
				again = simulate.Run(sc, simulate.NewPlayer(r.Choices))
			}
			mu.Lock()
			total.Add(r.Stats)
			if again.Hash != r.Hash {
				t.Errorf("the tape of seed %d gave another run", seed)
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
		require.NotZero(t, total.Faults[f], "%+v", f)
	}
	for _, i := range simulate.Invariants() {
		require.NotZero(t, total.Checks[i.Name], i.Name)
		delete(total.Checks, i.Name)
	}
	require.Empty(t, total.Checks, "checked, and not listed")
	t.Logf("%d seeds, %d orders, %.0f orders/s", n, total.Orders, float64(total.Orders)/time.Since(began).Seconds())
}

// TestTapes plays runs that seeds meet too rarely. Each in testdata is named after the rule that it needs, and ends
// with a violation if the rule is taken out; those of the corpus are former counterexamples.
func TestTapes(t *testing.T) {
	for _, folder := range []string{"testdata", "../testdata/corpus"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				tape, err := simulate.ReadTape(file)
				require.NoError(t, err)
				_, run, err := tape.Play(nil)
				require.NoError(t, err)
				require.Nil(t, run.Violation)
			})
		}
	}
}

// TestSimulatorPageShowsTheGate: docs/reference/simulator.md names the runs that the gate makes, and as many
// cells as there are.
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
	cells, cannot := simulate.Cells(nil)
	for _, want := range []string{
		fmt.Sprintf("%s runs over %s drawn workflows", thousands(gateSeeds), thousands(drawings)),
		fmt.Sprintf("the tapes of %d of them", twiceSeeds),
		fmt.Sprintf("The nightly run adds %s pairs", thousands(nightly)),
		fmt.Sprintf("single call of %d runs of one order", courses),
		fmt.Sprintf("All places and all %d cells are hit. %d cells cannot exist", len(cells), len(cannot)),
	} {
		require.Contains(t, page, want)
	}
}
