package explore

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/simulate"
	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

// Runs for each mutant: the same seeds each time, over many small workflows.
const (
	mutantWorkflows = 1200
	mutantSeeds     = 3 // seeds of each workflow
)

// tapes are runs that show what seeds come to too rarely, each named after the mutant that it shows.
func tapes(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.json")
	if err != nil || len(all) == 0 {
		t.Fatalf("there are no tapes: %v", err)
	}
	return all
}

// TestTapesAreOfMutants: each tape is of a mutant that exists and changes the core or an actor.
func TestTapesAreOfMutants(t *testing.T) {
	known := map[string]bool{}
	for _, m := range mutants.All() {
		known[m.Name] = m.Equivalent == "" && m.Unsimulated == ""
	}
	for _, file := range tapes(t) {
		if name := strings.TrimSuffix(filepath.Base(file), ".json"); !known[name] {
			t.Errorf("%s shows no mutant that can be noticed in a simulation", file)
		}
	}
}

// TestMutant plays the tapes and then runs seeds with all faults on, up to the first invariant that is
// broken.
func TestMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("the simulator's own tests run seeds; this one is for mutants")
	}
	for _, file := range tapes(t) {
		tape, err := simulate.ReadTape(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tape.Play(simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation != nil {
			t.Fatalf("%s: %v", file, r.Violation)
		}
	}
	for k := range uint64(mutantSeeds) {
		for n := range uint64(mutantWorkflows) {
			if v := simulate.Run(drawnScenario(n), simulate.NewSeeded(n<<8|k),
				simulate.Options{}).Violation; v != nil {
				t.Fatalf("workflow %d, seed %d: %v", n, n<<8|k, v)
			}
		}
	}
}

// TestMutantExplored goes through the small worlds, with one thing going wrong, as far as it comes in a
// minute.
func TestMutantExplored(t *testing.T) {
	if testing.Short() {
		t.Skip("the simulator's own tests explore; this one is for mutants")
	}
	e := explore(smallScopes(), 1, 2, time.Minute, nil)
	for _, f := range e.Found {
		t.Fatalf("%s: %v", f.Scope, f.Violation)
	}
}

// TestMutantWithoutFaults runs the same workflows with nothing going wrong. What is noticed here was no
// merit of the faults.
func TestMutantWithoutFaults(t *testing.T) {
	for n := range uint64(mutantWorkflows) {
		sc := simulate.Scenario{Definition: drawnWorkflow(n)}
		for i := range sc.Definition.Steps {
			switch s := &sc.Definition.Steps[i]; {
			case s.Wait != nil:
				s.Input = nil // a time that is none, which the operator would resubmit for ever
			case s.Answer != nil:
				// no answer comes: the time decides, or the operator would resubmit for ever
				s.Input, s.Answer.Refuse = nil, ""
				s.Answer.OnTimeout, s.Answer.TimeoutValue = "", json.RawMessage(`"yes"`)
			case s.Fail != nil:
				s.When = "false"
			}
		}
		if err := workflow.Seal(sc.Definition); err != nil {
			t.Fatal(err)
		}
		sc.Prepare()
		if v := simulate.Run(sc, simulate.Plain{}, simulate.Options{}).Violation; v != nil {
			t.Fatalf("workflow %d: %v", n, v)
		}
	}
}

func drawnScenario(n uint64) simulate.Scenario {
	sc := simulate.Scenario{Definition: drawnWorkflow(n)}
	sc.Prepare()
	return sc
}
