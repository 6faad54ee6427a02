package sim_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
)

const transfer = "../../examples/simulate/transfer.yaml"

// recorder is a test of a user.
type recorder struct {
	testing.TB
	errors, logs []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

// TestCheckFails checks that a user's test fails with the shrunk story and a tape, which the next run plays
// first.
func TestCheckFails(t *testing.T) {
	folder := t.TempDir()
	forgets := sim.With(sim.Services{"creditor": {Forgets: 2 * core.Second}})
	first := &recorder{TB: t}
	report := sim.Check(first, transfer, forgets, sim.Seeds(2000), sim.Corpus(folder))
	if len(first.errors) != 1 || !strings.Contains(first.errors[0], "invariant 3 is broken") ||
		!strings.Contains(first.errors[0], "/0/credit") ||
		!strings.Contains(first.errors[0], "stepkeeper simulate --replay "+folder) {
		t.Fatalf("it failed with %q", first.errors)
	}
	if n := len(report.Tape.Choices); n > 10 {
		t.Errorf("%d choices after shrinking", n)
	}
	again := &recorder{TB: t}
	sim.Check(again, transfer, forgets, sim.Seeds(1), sim.Corpus(folder))
	if len(again.errors) == 0 || !strings.Contains(again.errors[0], "the tape "+folder) {
		t.Errorf("the tape was not played: %q", again.errors)
	}
	corrected := &recorder{TB: t}
	sim.Check(corrected, transfer, sim.Seeds(50), sim.Corpus(folder))
	if len(corrected.errors) > 0 || len(corrected.logs) != 1 ||
		!strings.Contains(corrected.logs[0], "No violation in 50 seeds") {
		t.Errorf("with services that remember: %q, %q", corrected.errors, corrected.logs)
	}
}

// TestBreaks checks that a test that demonstrates a wrong workflow fails if nothing breaks.
func TestBreaks(t *testing.T) {
	r := &recorder{TB: t}
	sim.Check(r, transfer, sim.Seeds(50), sim.Breaks("3"))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "invariant 3 should break") {
		t.Errorf("%q", r.errors)
	}
}

// TestReplay plays one tape with the workflow as its file is now.
func TestReplay(t *testing.T) {
	folder := t.TempDir()
	bad := filepath.Join(folder, "transfer.yaml")
	text, err := os.ReadFile(transfer)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, bad, string(text))
	found := &recorder{TB: t}
	sim.Check(found, bad, sim.With(sim.Services{"debtor": {Grade: core.Idempotent}}), sim.Seeds(2000),
		sim.Corpus(folder))
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("tapes %v, %v", files, err)
	}
	tape, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	if sim.Replay(r, bad, string(tape)); len(r.errors) != 1 ||
		!strings.Contains(r.errors[0], "invariant 11") {
		t.Errorf("the bad workflow: %q", r.errors)
	}
	keep(t, bad, strings.Replace(string(text), "grade: fenced", "grade: idempotent", 1))
	r = &recorder{TB: t}
	if sim.Replay(r, bad, string(tape)); len(r.errors) > 0 {
		t.Errorf("the corrected workflow: %q", r.errors)
	}
}

func keep(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Which seeds are run, for how long at most, and with which faults, is said by options.
func TestWhatIsRun(t *testing.T) {
	first := sim.Check(t, transfer, sim.Seeds(40), sim.Corpus(""))
	other := sim.Check(t, transfer, sim.Seeds(40), sim.Corpus(""), sim.From(1000))
	if first.Seeds != 40 || other.Seeds != 40 || maps.Equal(first.FaultsByKind, other.FaultsByKind) {
		t.Errorf("seeds from 0 and from 1000 met %v and %v", first.FaultsByKind, other.FaultsByKind)
	}
	often := func(a, b string) int { return first.FaultsByKind[a] - first.FaultsByKind[b] }
	name := slices.MaxFunc(slices.Sorted(maps.Keys(first.FaultsByKind)), often)
	if only := sim.Check(t, transfer, sim.Seeds(40), sim.Corpus(""),
		sim.Only(t, name)); len(only.FaultsByKind) != 1 || only.FaultsByKind[name] == 0 {
		t.Errorf("of %s alone: %v", name, only.FaultsByKind)
	}
	if short := sim.Check(t, transfer, sim.Seeds(1_000_000), sim.Corpus(""),
		sim.For(time.Nanosecond)); short.Seeds > 1000 {
		t.Errorf("%d seeds in no time", short.Seeds)
	}
}
