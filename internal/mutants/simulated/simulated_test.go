// Package simulated_test lets the simulator look at mutants: the same seeds each time, over many
// small workflows.
package simulated_test

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/simulate"
)

const (
	workflows = 1200
	seeds     = 3 // of each
)

// TestMutant runs seeds with all faults on, up to the first invariant that is broken.
func TestMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("the simulator's own tests run seeds; this one is for mutants")
	}
	for k := range uint64(seeds) {
		for n := range uint64(workflows) {
			if v := simulate.Run(drawn(n), simulate.NewSeeded(n<<8|k), simulate.Options{}).Violation; v != nil {
				t.Fatalf("workflow %d, seed %d: %v", n, n<<8|k, v)
			}
		}
	}
}

// TestMutantExplored goes through the small worlds, with one thing going wrong, as far as it comes in a minute.
func TestMutantExplored(t *testing.T) {
	if testing.Short() {
		t.Skip("the simulator's own tests explore; this one is for mutants")
	}
	e := simulate.Explore(simulate.SmallScopes(), 1, 2, time.Minute, nil)
	for _, f := range e.Found {
		t.Fatalf("%s: %v", f.Scope, f.Violation)
	}
}

// TestMutantInCalm runs the same workflows with nothing going wrong. What is noticed here was no
// merit of the faults.
func TestMutantInCalm(t *testing.T) {
	for n := range uint64(workflows) {
		if v := simulate.Run(drawn(n), simulate.Plain{}, simulate.Options{}).Violation; v != nil {
			t.Fatalf("workflow %d: %v", n, v)
		}
	}
}

func drawn(n uint64) simulate.Scenario {
	sc := simulate.Scenario{Definition: simulate.Drawn(n)}
	sc.Prepare()
	return sc
}
