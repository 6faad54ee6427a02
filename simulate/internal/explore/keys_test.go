package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// TestForgottenKeysAreNotAsked simulates a service that remembers keys for a shorter time than a step keeps
// trying (P18). If the workflow declares it, nothing is done twice: the step stops for the operator. If it
// does not, something is done twice.
func TestForgottenKeysAreNotAsked(t *testing.T) {
	const seeds = 1200
	for _, declared := range []bool{true, false} {
		d := drawnWorkflow(1)
		d.Deadline = 0
		d.OnDeadline = ""
		d.HopBudget = 200
		services := simulate.Services{}
		for i := range d.Steps {
			s := &d.Steps[i]
			s.Grade = core.Idempotent
			s.Retry.ExtendedInterval = 4 * core.Minute
			s.Retry.ExtendedRounds = 5
			a := d.Agents[s.Agent]
			a.KeyRetention = 0
			if declared {
				a.KeyRetention = 10 * core.Minute
			}
			d.Agents[s.Agent] = a
			services[s.Agent] = simulate.Service{Forgets: 10 * core.Minute}
		}
		require.NoError(t, workflow.Seal(d))
		sc := simulate.Scenario{Definition: d, Services: services}
		sc.Prepare()
		var found *simulate.Violation
		orders := 0
		for seed := range uint64(seeds) {
			r := simulate.Run(sc, simulate.NewSeeded(seed), simulate.Options{})
			orders += r.Orders
			found = r.Violation
			if found != nil {
				break
			}
		}
		switch {
		case declared && found != nil:
			t.Errorf("keyRetention is declared: %v", found)
		case !declared && (found == nil || found.Invariant != "3"):
			t.Errorf("keyRetention is not declared, and nothing is done twice in %d orders: %v", orders,
				found)
		}
		t.Logf("declared %v: %d orders, %v", declared, orders, found)
	}
}
