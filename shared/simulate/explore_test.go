package simulate_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/simulate"
)

// TestSmallScope goes through every run of a few scenes with one thing going wrong, and as many
// with two as there is time for; `make simulate-report` gives it more.
func TestSmallScope(t *testing.T) {
	most := 10 * time.Second
	if testing.Short() {
		most = time.Second
	}
	e := simulate.Explore(simulate.SmallScope()[:3], 2, runtime.GOMAXPROCS(0), most)
	for i, b := range e.Broken {
		if i < 5 {
			t.Errorf("%s, %+v: %v", b.Scene, b.Choices, b.Violation)
		}
	}
	if e.States < 1000 {
		t.Errorf("only %d states", e.States)
	}
	t.Logf("%d states, %d runs with up to %d faults, whole %v, %d paths left", e.States, e.Runs, e.Faults, e.Whole, e.Left)
}
