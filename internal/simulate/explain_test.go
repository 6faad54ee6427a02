package simulate_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// TestEveryFaultIsExplained checks that docs/reference/simulator.md describes how each fault is played.
func TestEveryFaultIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/simulator.md")
	require.NoError(t, err)
	for _, f := range simulate.Faults() {
		require.Contains(t, string(text), "- `"+string(f)+"`: ", "%+v", f)
	}
}

// TestWhoseItIs checks who can correct a broken rule. The rules of effects hold only if the services keep
// what the workflow declares; every other broken rule is Stepkeeper's own fault, whatever the services are.
func TestWhoseItIs(t *testing.T) {
	def := load(t, "../../examples/order/order.yaml")
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
