package simulate_test

import (
	"runtime"
	"testing"

	"github.com/stepkeeper/stepkeeper/simulate"
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
	for i, p := range m.Unhit() {
		if i < 10 {
			t.Errorf("%s: never hit, and nothing says why: %+v", p.Scene, p.Choice)
		}
	}
	for _, a := range m.Wrong {
		t.Errorf("%s at %s was hit, and cannot exist: %s", a.Act, a.Site, a.Why)
	}
	for _, a := range m.Absent {
		if a.Why == "" {
			t.Errorf("%s at %s cannot exist, and no reason is given", a.Act, a.Site)
		}
	}
	if !testing.Short() {
		for _, c := range m.Missing {
			t.Errorf("never hit: %s at %s", c.Act, c.Site)
		}
	}
	t.Logf("%d places; %d scenes, %d runs, %d of %d cells, %d cannot exist, %d broken", len(m.Places),
		m.Scenes, m.Runs, m.Count()-len(m.Missing), m.Count(), len(m.Absent), len(m.Broken))
}
