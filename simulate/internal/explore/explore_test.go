package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// TestExplorationFinds checks that the exploration finds services that differ from what their workflow
// declares, with as many faults on a path as it takes.
func TestExplorationFinds(t *testing.T) {
	for _, x := range []struct {
		scope, invariant string
		faults           int
		is               simulate.Service
	}{
		{"fenced: in a row, cancelled", "11", 1, simulate.Service{Grade: core.Idempotent}},
		{"fenced: in a row", "3", 1, simulate.Service{Grade: core.Plain}},
		{"fenced: in a row", "3", 1, simulate.Service{Forgets: 2 * core.Second}},
		{"idempotent: in a row", "3", 1, simulate.Service{Grade: core.Plain}},
	} {
		for _, s := range smallScopes() {
			if s.Name != x.scope {
				continue
			}
			s.Services = simulate.Services{"a-agent": x.is}
			_, found := explore([]Scope{s}, x.faults, 5*time.Minute)
			require.NotEmpty(t, found, x.scope)
			require.Equal(t, x.invariant, found[0].Violation.Invariant, x.scope)
			require.NotEmpty(t, found[0].Path, x.scope)
		}
	}
}
