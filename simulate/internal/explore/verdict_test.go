package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/simulate"
	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

// TestNoFigureIsMadeUp: without the mutants, or with some of them only, there is no report.
func TestNoFigureIsMadeUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mutants.json")
	if err := run(options{mutants: file}); err == nil || !strings.Contains(err.Error(), "make mutants") {
		t.Errorf("without the file: %v", err)
	}
	for _, x := range []struct{ text, want string }{
		{"{", "the figures of the mutants"},
		{`{"mutants": 1, "mutants_killed": 1}`, "has 1 mutants"},
		{fmt.Sprintf(`{"mutants": 7, "mutants_killed": 7, "mutants_equivalent": 1, "mutants_left": %d}`,
			len(mutants.Offline())-8), ""},
		{fmt.Sprintf(`{"mutants": %d, "mutants_killed": 7, "mutants_equivalent": 1}`,
			len(mutants.Offline())-1), ""},
	} {
		if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &figures{}
		if err := f.readMutants(file); x.want != "" && (err == nil ||
			!strings.Contains(err.Error(), x.want)) || x.want == "" && (err != nil || f.MutantsKilled != 7) {
			t.Errorf("%s: %v, %+v", x.text, err, f)
		}
	}
}

// TestVerdict: each figure that is not as it must be fails the gate.
func TestVerdict(t *testing.T) {
	good := func() figures {
		return figures{FaultKinds: 34, FaultsKindsHit: 34, Cells: 2, CellsHit: 2, Places: 3, PlacesHit: 3,
			Mutants: 4, MutantsKilled: 4}
	}
	f := good()
	if err := f.verdict(); err != nil {
		t.Errorf("all is well, and the verdict is %v", err)
	}
	for what, harm := range map[string]func(*figures){
		"cells":     func(f *figures) { f.CellsHit = 1 },
		"places":    func(f *figures) { f.PlacesHit = 1 },
		"kinds":     func(f *figures) { f.FaultsKindsHit = 33 },
		"survive":   func(f *figures) { f.MutantsKilled = 3 },
		"no mutant": func(f *figures) { f.Mutants, f.MutantsKilled = 0, 0 },
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
