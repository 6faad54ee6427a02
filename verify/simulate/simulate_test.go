package simulate_test

import (
	"path/filepath"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/verify/simulate"
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
	n := uint64(200)
	for seed := range n {
		a, b := simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{}), simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{})
		if a.Hash != b.Hash || a.Steps != b.Steps {
			t.Fatalf("seed %d: %x after %d events, and %x after %d", seed, a.Hash, a.Steps, b.Hash, b.Steps)
		}
	}
}

// TestDrawnWorkflows runs many small workflows, each with some seeds.
func TestDrawnWorkflows(t *testing.T) {
	n := uint64(600)
	if testing.Short() {
		n = 240
	}
	var total simulate.Stats
	bad := 0
	for seed := range n {
		sc := simulate.Scenario{Definition: simulate.Drawn(seed)}
		sc.Prepare()
		for k := range uint64(4) {
			r := simulate.Run(sc, simulate.NewSeeded(seed<<8|k), simulate.Options{})
			total.Orders += r.Orders
			for f, h := range r.Hits {
				total.Hits[f] += h
			}
			if r.Violation != nil {
				if bad++; bad < 10 {
					t.Errorf("workflow %d, seed %d: %v", seed, seed<<8|k, r.Violation)
				}
			}
		}
	}
	for _, f := range simulate.Faults() {
		if total.Hits[f] == 0 {
			t.Errorf("fault %s never happened", f)
		}
	}
	t.Logf("%d orders, %d violations", total.Orders, bad)
}

// TestCorpus plays every tape that once showed a fault of the product, or accused it of none.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d tapes, %v", len(files), err)
	}
	for _, file := range files {
		tape, err := simulate.ReadTape(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tape.Play(simulate.Options{})
		if err != nil || r.Violation != nil {
			t.Errorf("%s: %v, %v", file, err, r.Violation)
		}
	}
}
