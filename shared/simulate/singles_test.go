package simulate_test

import (
	"runtime"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/simulate"
)

// TestSingleFaults tries every fault at every place of every base scenario: each cell is hit.
func TestSingleFaults(t *testing.T) {
	scenes := simulate.Scenes()
	if len(scenes) < 20 {
		t.Errorf("only %d base scenarios", len(scenes))
	}
	if testing.Short() {
		scenes = scenes[:8]
	}
	m := simulate.Singles(scenes, runtime.GOMAXPROCS(0), 0)
	for i, b := range m.Broken {
		if i < 10 {
			t.Errorf("%s, %+v: %v", b.Scene, b.Choices, b.Violation)
		}
	}
	if !testing.Short() {
		for _, c := range m.Missing {
			t.Errorf("never hit: %s at %s", c.Act, c.Site)
		}
	}
	t.Logf("%d scenes, %d runs, %d of %d cells, %d cannot exist, %d broken", m.Scenes, m.Runs, m.Count()-len(m.Missing), m.Count(), len(m.Absent), len(m.Broken))
}
