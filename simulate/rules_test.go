package simulate_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// rules lists every rule of the protocol, with the invariants that hold runs to it.
var rules = []struct {
	rule string
	by   []string // invariants that hold runs to it, by their names
	why  string   // argument for a rule that no invariant can check
}{
	{"P1", []string{"14", "P18"}, ""},
	{"P2", []string{"P2", "3", "P3"}, ""},
	{"P3", []string{"P3", "P32"}, ""},
	{"P4", []string{"P12"}, ""},
	{"P5", []string{"P5", "P17", "P18"}, ""},
	{"P6", []string{"P6", "P12", "P25"}, ""},
	{"P7", []string{"10", "9"}, ""},
	{"P8", []string{"15", "P15"}, ""},
	{"P9", []string{"P9", "21"}, ""},
	{"P9a", nil, "when a retry was claimed has no effect; TestStories"},
	{"P10", nil, "a due time that is too early has no effect; TestDueIsPushedForward"},
	{"P11", []string{"P11", "5"}, ""},
	{"P12", []string{"P12", "18"}, ""},
	{"P12a", nil, "who emits again has no effect; TestACopyThatLosesSendsNothing and others"},
	{"P13", []string{"P13"}, ""},
	{"P14", []string{"P14", "P26"}, ""},
	{"P15", []string{"P15", "4"}, ""},
	{"P16", []string{"P16", "17", "13"}, ""},
	{"P17", []string{"P17", "6"}, ""},
	{"P18", []string{"P18", "3"}, ""},
	{"P19", nil, "the reason of an undo has no effect; TestStories"},
	{"P20", []string{"9", "11"}, ""},
	{"P21", []string{"P21", "11"}, ""},
	{"P22", []string{"P22"}, ""},
	{"P22a", []string{"P22a"}, ""},
	{"P23", []string{"P23", "20"}, ""},
	{"P23a", nil, "the time of an undo has no bound; TestStories"},
	{"P24", []string{"P24", "10"}, ""},
	{"P25", []string{"P25"}, ""},
	{"P26", []string{"P26", "2"}, ""},
	{"P27", []string{"5", "18"}, ""},
	{"P28", []string{"P28", "19"}, ""},
	{"P31", []string{"3", "P24"}, ""},
	{"P32", []string{"P32"}, ""},
	{"P33", []string{"P33", "P9"}, ""},
	{"P34", nil, "when a wait ends has no effect in a service; TestStories"},
	{"P35", nil, "only the document shows who decided; TestStories"},
	{"P38", nil, "a question that is asked in vain has no effect; TestStories"},
	{"P36", nil, "only the document shows an answer; TestStories"},
	{"P37", nil, "only the document shows a time that is over; TestStories"},
	{"P39", []string{"P12"}, ""},
	{"P40", []string{"P40", "5"}, ""},
	{"P41", []string{"P41", "8"}, ""},
	{"P42", []string{"P42", "7"}, ""},
	{"P43", []string{"P43"}, ""},
	{"P44", nil, "which of the agents is asked has no effect; TestStories"},
	{"P45", []string{"12"}, ""},
	{
		"P46", nil,
		"the order in which a queue hands out its messages is drawn at random, as SQS gives none; " +
			"dev/memory and dev/embedded test it",
	},
	{"P48", []string{"P48", "6", "18"}, ""},
	{"P49", []string{"P49", "14"}, ""},
	{"P50", []string{"7", "8"}, ""},
	{"P51", []string{"P51", "P5", "P12"}, ""},
	{"P52", []string{"P52", "P5", "P12"}, ""},
	{"P53", []string{"22", "23"}, ""},
	{"P54", []string{"22", "23", "7"}, ""},
	{"P55", []string{"P40", "P41", "8"}, ""},
	{"P56", []string{"26"}, ""},
	{"P57", []string{"24", "25", "8", "P41"}, ""},
	{"P59", []string{"27", "3", "P12"}, ""},
	{"P58", []string{"7", "8", "P16", "21"}, ""},
	{"P60", nil, "the simulator's store damages no document; TestADamagedOrderIsSetAside does"},
}

// TestEveryRuleIsLookedAt checks that an invariant covers each rule of the protocol, or that an argument
// states why none can.
func TestEveryRuleIsLookedAt(t *testing.T) {
	text, err := os.ReadFile("../docs/explanation/protocol.md")
	require.NoError(t, err)
	var names []string
	for _, i := range simulate.Invariants() {
		names = append(names, i.Name)
	}
	known := map[string]bool{}
	for _, c := range rules {
		known[c.rule] = true
		require.NotEqual(t, c.why == "", len(c.by) == 0, c.rule)
		for _, name := range c.by {
			require.Contains(t, names, name, c.rule)
		}
	}
	stated := map[string]bool{}
	for _, rule := range regexp.MustCompile(`\bP[0-9]+a?\b`).FindAllString(string(text), -1) {
		stated[rule] = true
		require.True(t, known[rule], "%s stands in docs/explanation/protocol.md and is not listed", rule)
	}
	for rule := range known {
		require.True(t, stated[rule], "%s is listed, and docs/explanation/protocol.md does not name it", rule)
	}
}

// TestEveryFaultIsExplained checks that docs/reference/simulator.md describes how each fault is played.
func TestEveryFaultIsExplained(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/simulator.md")
	require.NoError(t, err)
	for _, f := range simulate.Faults() {
		require.Contains(t, string(text), "- `"+f.String()+"`: ", "%+v", f)
	}
}

// TestWhoseItIs checks who can correct a broken rule. The rules of effects hold only if the services keep
// what the workflow declares; every other broken rule is Stepkeeper's own fault, whatever the services are.
func TestWhoseItIs(t *testing.T) {
	def := load(t, "../examples/order/order.yaml")
	d := &def.Steps[0]
	d.Grade = core.Fenced
	honest := simulate.Services{d.Agent: {
		Grade: core.Fenced, Latency: core.Second, NoUndo: true,
		Refusals: 1,
	}}
	weaker := simulate.Services{d.Agent: {Grade: core.Idempotent}}
	forgets := simulate.Services{d.Agent: {Forgets: core.Minute}}
	def.Agents[d.Agent] = core.AgentDefinition{}
	effects := []string{"3", "7", "8", "9", "11", "22", "P22a", "P48"}
	for _, i := range simulate.Invariants() {
		for _, tt := range []struct {
			services simulate.Services
			yours    bool
		}{{nil, false}, {honest, false}, {weaker, true}, {forgets, true}} {
			want := simulate.ReportToUs
			if tt.yours && slices.Contains(effects, i.Name) {
				want = simulate.YourWorkflow
			}
			got := (&simulate.Violation{Invariant: i.Name}).Explain(simulate.Scenario{
				Definition: def,
				Services:   tt.services,
			})
			require.Equal(t, want, got.Responsible, i.Name)
			require.NotEmpty(t, got.Text, i.Name)
			require.NotEmpty(t, got.Fix, i.Name)
		}
	}
}
