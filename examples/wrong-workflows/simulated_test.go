package wrongworkflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
)

// The simulator is reported what the service truly offers: then an effect comes after its undo.
func TestWhatSimulationFinds(t *testing.T) {
	hotel := sim.With(sim.Services{"hotel": {Grade: core.Idempotent}})
	sim.Check(t, "cannot-fence.yaml", hotel, sim.Seeds(3000), sim.Breaks("11"))
	sim.Check(t, "cannot-fence-fixed.yaml", hotel, sim.Corpus(""))
	// The provider keeps keys for an hour, and the wrong file does not say so.
	provider := sim.With(sim.Services{"payment": {Forgets: core.Hour}})
	sim.Check(t, "forgets-keys.yaml", provider, sim.Seeds(3000), sim.Breaks("3"))
	sim.Check(t, "forgets-keys-fixed.yaml", provider, sim.Corpus(""))
}

// With all faults off, and services as slow as the real ones, every order ends Processed: but not
// where the timeout is shorter than that.
func TestCalmSimulations(t *testing.T) {
	for file, clean := range map[string]bool{"impatient.yaml": false, "impatient-fixed.yaml": true} {
		def, problems := source.LoadFile(file, source.Options{})
		if def == nil {
			t.Fatal(problems)
		}
		sc := simulate.Scenario{
			Definition: def,
			Services:   sim.Services{"warehouse": {Latency: 4 * core.Second}},
		}
		sc.Prepare()
		r := simulate.Run(sc, simulate.Plain{})
		require.Equal(t, clean, r.Violation == nil && r.Orders > 0 && r.Ends[core.Processed] == r.Orders, file)
	}
}
