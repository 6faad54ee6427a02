package explore

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/simulate"
)

// TestVerdict: each figure that is not as it must be fails the gate.
func TestVerdict(t *testing.T) {
	good := func() figures {
		return figures{FaultKinds: 34, FaultsKindsHit: 34, Cells: 2, CellsHit: 2, Places: 3, PlacesHit: 3}
	}
	f := good()
	if err := f.verdict(); err != nil {
		t.Errorf("all is well, and the verdict is %v", err)
	}
	for what, harm := range map[string]func(*figures){
		"cells":     func(f *figures) { f.CellsHit = 1 },
		"places":    func(f *figures) { f.PlacesHit = 1 },
		"kinds":     func(f *figures) { f.FaultsKindsHit = 33 },
		"another":   func(f *figures) { f.Different = 1 },
		"shrink":    func(f *figures) { f.ShrunkMedian = 11 },
		"without":   func(f *figures) { f.FaultsPerPath = -1 },
		"invariant": func(f *figures) { f.broke("a seed", &simulate.Violation{Invariant: "invariant"}) },
	} {
		f := good()
		harm(&f)
		if err := f.verdict(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSimulatorPageShowsTheGate: docs/reference/simulator.md names the runs that the gate makes.
func TestSimulatorPageShowsTheGate(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ") // the page wraps its lines
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	for _, want := range []string{
		fmt.Sprintf("%s runs over %s drawn workflows", thousands(gateSeeds), thousands(drawings)),
		fmt.Sprintf("%s of them twice", thousands(twiceSeeds)),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	_, pairs, _ := strings.Cut(string(makefile), "-pairs ")
	n := 0
	if _, err := fmt.Sscan(pairs, &n); err != nil ||
		!strings.Contains(page, "The nightly run adds "+thousands(n)+" pairs") {
		t.Errorf("it does not say that the nightly run adds %s pairs: %v", thousands(n), err)
	}
}
