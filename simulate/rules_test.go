package simulate_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// TestEveryRuleIsLookedAt checks that an invariant covers each rule of the protocol, or that an argument
// states why none can.
func TestEveryRuleIsLookedAt(t *testing.T) {
	text, err := os.ReadFile("../docs/explanation/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range simulate.Invariants() {
		names = append(names, i.Name)
	}
	known := map[string]bool{}
	for _, c := range simulate.Rules() {
		known[c.Rule] = true
		if (len(c.By) == 0) == (c.Why == "") {
			t.Errorf("%s: invariants %v, argument %q: one of both", c.Rule, c.By, c.Why)
		}
		for _, name := range c.By {
			if !slices.Contains(names, name) {
				t.Errorf("%s: there is no invariant %s", c.Rule, name)
			}
		}
	}
	stated := map[string]bool{}
	for _, rule := range regexp.MustCompile(`\bP[0-9]+a?\b`).FindAllString(string(text), -1) {
		stated[rule] = true
		if !known[rule] {
			t.Errorf("%s stands in docs/explanation/protocol.md and is not listed", rule)
		}
	}
	for rule := range known {
		if !stated[rule] {
			t.Errorf("%s is listed, and docs/explanation/protocol.md does not name it", rule)
		}
	}
}

// TestEveryFaultIsExplained checks that docs/reference/simulator.md describes how each fault is played.
func TestEveryFaultIsExplained(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range simulate.Faults() {
		if !strings.Contains(string(text), "| `"+f.String()+"` |") {
			t.Errorf("docs/reference/simulator.md does not say how %s is played", f)
		}
	}
}

// TestWhoseItIs checks who can correct a broken rule. The rules of effects hold only if the services keep
// what the workflow declares; every other broken rule is Stepkeeper's own fault, whatever the services are.
func TestWhoseItIs(t *testing.T) {
	def := simulate.Drawn(1)
	d := &def.Steps[0]
	d.Grade = core.Fenced
	honest := simulate.Services{d.Agent: {Grade: core.Fenced, Latency: core.Second, NoUndo: true,
		Refusals: 1}}
	weaker := simulate.Services{d.Agent: {Grade: core.Idempotent}}
	forgets := simulate.Services{d.Agent: {Forgets: core.Minute}}
	def.Agents[d.Agent] = core.AgentDefinition{}
	effects := []string{"3", "7", "8", "9", "11", "P22a", "P48"}
	for _, i := range simulate.Invariants() {
		for _, tt := range []struct {
			services simulate.Services
			yours    bool
		}{{nil, false}, {honest, false}, {weaker, true}, {forgets, true}} {
			want := simulate.ReportToUs
			if tt.yours && slices.Contains(effects, i.Name) {
				want = simulate.YourWorkflow
			}
			got := (&simulate.Violation{Invariant: i.Name}).Explain(simulate.Scenario{Definition: def,
				Services: tt.services})
			if got.Whose != want || got.Text == "" || got.Fix == "" {
				t.Errorf("invariant %s with services %v: %+v, want %q", i.Name, tt.services, got, want)
			}
		}
	}
}
