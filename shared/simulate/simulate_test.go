package simulate_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/simulate"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// load reads a workflow of the project.
func load(t testing.TB, file string) *core.Definition {
	t.Helper()
	def, problems := source.LoadFile(file, source.Options{})
	if def == nil {
		t.Fatal(problems)
	}
	return def
}

func TestNothingGoesWrong(t *testing.T) {
	r := simulate.Run(simulate.Scenario{Definition: load(t, "../../workflows/order.yaml"), Order: order}, simulate.Plain{}, simulate.Options{Story: true})
	if r.Violation != nil || r.Ends[core.Processed] != 1 {
		for _, l := range r.Story {
			t.Log(l)
		}
		t.Fatalf("%v, ends %v", r.Violation, r.Ends)
	}
}

var order = []byte(`{"items":[{"sku":"a","quantity":1,"unitPrice":5,"physical":true}],"payment":{"card":"x"},"currency":"EUR","shipTo":"here","customer":{"email":"a@b"}}`)

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	sc := simulate.Scenario{Definition: load(t, "../../workflows/order.yaml"), Order: order}
	n := uint64(300)
	for seed := range n {
		a, b := simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{}), simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{})
		if a.Hash != b.Hash || a.Steps != b.Steps {
			t.Fatalf("seed %d: %x after %d events, and %x after %d", seed, a.Hash, a.Steps, b.Hash, b.Steps)
		}
	}
}

func TestSeeds(t *testing.T) {
	sc := simulate.Scenario{Definition: load(t, "../../workflows/order.yaml"), Order: order}
	n, orders := 2000, 0
	hits := map[string]int{}
	bad := map[string]int{}
	shown := 0
	for seed := range uint64(n) {
		r := simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{})
		orders += r.Orders
		for f, h := range r.Hits {
			hits[simulate.Fault(f).String()] += h
		}
		if r.Violation != nil {
			bad[r.Violation.Invariant]++
			if shown < 6 {
				shown++
				t.Errorf("seed %d: %v", seed, r.Violation)
			}
		}
	}
	t.Logf("%d orders, %v, hits %v", orders, bad, hits)
}
