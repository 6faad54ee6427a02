package simulate_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/simulate"
)

// TestSmallScope goes through everything that can happen in the small worlds with one thing going
// wrong, as far as there is time; `make simulate-report` gives it more.
func TestSmallScope(t *testing.T) {
	most := 10 * time.Second
	if testing.Short() {
		most = time.Second
	}
	e := simulate.Explore(simulate.SmallScopes(), 1, runtime.GOMAXPROCS(0), most, nil)
	for i, f := range e.Found {
		if i < 5 {
			t.Errorf("%s: %v", f.Scope, f.Violation)
			for _, l := range f.Path {
				t.Log(l)
			}
		}
	}
	if e.States < 1000 {
		t.Errorf("only %d states", e.States)
	}
	for _, s := range e.Scopes {
		t.Logf("%+v", s)
	}
	t.Logf("%d states, %d steps, %d runs with up to %d faults, whole %v, %d branches left", e.States, e.Steps, e.Runs, e.Faults, e.Whole, e.Left)
}

// BenchmarkExplore measures how many states are visited in a second.
func BenchmarkExplore(b *testing.B) {
	states := 0
	for b.Loop() {
		states += simulate.Explore(simulate.SmallScopes()[:1], 1, 1, time.Minute, nil).States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}
