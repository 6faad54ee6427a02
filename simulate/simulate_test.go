package simulate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/simulate"
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
	r := simulate.Run(simulate.Scenario{Definition: load(t, "../workflows/order.yaml"), Order: order},
		simulate.Plain{}, simulate.Options{Story: true})
	if r.Violation != nil || r.Ends[core.Processed] != 1 {
		for _, l := range r.Story {
			t.Log(l)
		}
		t.Fatalf("%v, ends %v", r.Violation, r.Ends)
	}
}

var order = []byte(`{"items":[{"sku":"a","quantity":1,"unitPrice":5,"physical":true}],"payment":{"card":"x"},"currency":"EUR","shipTo":"here","customer":{"email":"a@b"}}`)

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	sc := simulate.Scenario{Definition: load(t, "../workflows/order.yaml"), Order: order}
	n := uint64(200)
	for seed := range n {
		a, b := simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{}),
			simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{})
		if a.Hash != b.Hash || a.Steps != b.Steps {
			t.Fatalf("seed %d: %x after %d events, and %x after %d", seed, a.Hash, a.Steps, b.Hash, b.Steps)
		}
	}
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

// A rule whose condition cannot be evaluated fails its step, which no invariant forbids: what is found is the
// workflow's, with a fix.
func TestARuleThatCannotBeEvaluated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "order.yaml")
	text := `
workflow: order
steps:
  quote: {agent: pricing, operation: quote, timeout: 5s, onFailure: undo, undo: none, grade: fenced}
  too-large:
    fail: {code: too-large, message: "Orders above 10,000 need an offer."}
    when: steps.quote.output.total > 10000
    after: [quote]
  charge: {agent: payment, operation: charge, after: [too-large], timeout: 5s, onFailure: undo, undo: refund, grade: fenced}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sc := simulate.Scenario{Definition: load(t, file)}
	all := simulate.Diagnose(sc)
	if len(all) != 1 || all[0].Responsible != simulate.YourWorkflow || all[0].Step != "too-large" ||
		!strings.Contains(all[0].Fix, "--services, as in pricing: {quote: {output: {total: …}}}") {
		t.Errorf("%+v", all)
	}
	sc.Prepare()
	for seed := range uint64(100) {
		if r := simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{}); r.Violation != nil {
			t.Fatalf("seed %d: %v", seed, r.Violation)
		}
	}
}
