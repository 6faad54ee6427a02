package simulate_test

import (
	"os"
	"path/filepath"
	"slices"
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
	r := simulate.Run(simulate.Scenario{Definition: load(t, "../examples/order/order.yaml"), Order: order},
		simulate.Plain{}, simulate.Options{Story: true})
	if r.Violation != nil || r.Ends[core.Processed] != 1 {
		for _, l := range r.Story {
			t.Log(l)
		}
		t.Fatalf("%v, ends %v", r.Violation, r.Ends)
	}
}

var order = []byte(`{"items":[{"sku":"a","quantity":1,"unitPrice":5,"physical":true}],"payment":{"card":"x"},"currency":"EUR","shipTo":"here","customer":{"email":"a@b"}}`)

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

// An operator gives up a child that can never succeed by a command that is accepted: a child takes no undo.
func TestAChildThatAlwaysStops(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"parent.yaml": `
workflow: parent
steps:
  reserve: {agent: shop, operation: reserve, undo: release, grade: idempotent, timeout: 10s, onFailure: undo}
  kids: {workflow: child, each: "${ [1, 2] }", input: {n: "${ item }"}, after: [reserve]}
`,
		"bound.yaml": `
workflow: bound
steps:
  pay: {agent: shop, operation: pay, grade: idempotent, timeout: 10s, pointOfNoReturn: true, onFailure: stop}
  kids: {workflow: child, each: "${ [1, 2] }", input: {n: "${ item }"}, after: [pay], onFailure: stop}
`,
		"child.yaml": `
workflow: child
steps:
  send: {agent: mail, operation: send, undo: unsend, grade: idempotent, timeout: 10s, onFailure: stop}
  bad: {fail: {code: never, message: It cannot be.}, when: order.n == 1, after: [send], onFailure: stop}
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"parent.yaml", "bound.yaml"} {
		sc := simulate.Scenario{Definition: load(t, filepath.Join(folder, name)), Orders: 2}
		found := simulate.Diagnose(sc)
		if len(found) != 1 || found[0].Responsible != simulate.YourWorkflow || !strings.Contains(found[0].Text, "It cannot be.") {
			t.Errorf("%s: %+v", name, found)
		}
		for seed := range uint64(30) {
			if r := simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{}); r.Violation != nil {
				t.Errorf("%s, seed %d: %v", name, seed, r.Violation)
			}
		}
	}
}

// What a service does not have is found by comparison, also of a step of a child order: no seed is needed.
func TestWeakerGradesNeedNoSeed(t *testing.T) {
	sc := simulate.Scenario{Definition: load(t, "../examples/shipments/shipments.yaml")}
	if found := simulate.Overstated(sc); len(found) != 0 {
		t.Errorf("services as declared: %+v", found)
	}
	strength := []core.Grade{core.Plain, core.Idempotent, core.Fenced}
	for _, agents := range []map[string]core.AgentDefinition{
		sc.Definition.Agents,
		sc.Definition.Steps[slices.IndexFunc(sc.Definition.Steps, func(d core.StepDefinition) bool {
			return d.Each != nil
		})].Each.Child.Agents,
	} {
		for agent := range agents {
			sc.Services = simulate.Services{agent: {Grade: strength[0]}}
			for _, f := range simulate.Overstated(sc) {
				if f.Agent != agent || f.Advice || !strings.Contains(f.Text, "is plain") {
					t.Errorf("%s: %+v", agent, f)
				}
			}
		}
	}
	if len(simulate.Overstated(sc)) == 0 {
		t.Error("no step of a child order declares more than plain")
	}
}
