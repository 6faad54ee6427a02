package explore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// TestStatesWithOneHashGoOnAlike checks that if two paths come to states with the same hash, the same actions
// can happen next, with the same outcomes. Otherwise the exploration would leave out states that it has not
// seen.
func TestStatesWithOneHashGoOnAlike(t *testing.T) {
	walks := 400
	compared := 0
	if testing.Short() {
		walks = 60
	}
	for _, s := range smallScopes() {
		s.Prepare()
		rng := rand.New(rand.NewPCG(7, uint64(len(s.Name)))) //nolint:gosec // not for secrets
		first := map[uint64][]Action{}
		for range walks / 10 {
			walk(&s, rng, first, func(one, other []Action) {
				if compared++; compared%7 != 0 { // each takes a run for all that can happen next
					return
				}
				a := successors(&s, one)
				b := successors(&s, other)
				bothSpoil(a, b)
				require.Equal(t, b, a, s.Name)
			})
		}
	}
	require.GreaterOrEqual(t, compared, walks)
	t.Logf("%d states were met by two paths", compared)
}

// walk takes a random path with few faults, and checks states that were met by another path.
func walk(s *Scope, rng *rand.Rand, first map[uint64][]Action,
	met func(one, other []Action),
) {
	var path []Action
	d := newDriver(deployment.NewSimulation(s.Scenario, world.Plain{}), s)
	defer end(d)
	for range 60 {
		acts := slices.Clone(enabled(d))
		if rng.IntN(12) > 0 {
			acts = slices.DeleteFunc(acts, Action.Costs)
		}
		if len(acts) == 0 {
			return
		}
		a := acts[rng.IntN(len(acts))]
		do(d, a)
		path = append(path, a)
		h := stateHash(d)
		if was, known := first[h]; !known {
			first[h] = slices.Clone(path)
		} else if !slices.Equal(was, path) {
			met(was, path)
		}
	}
}

// successors counts the states that can follow.
func successors(s *Scope, path []Action) map[string]int {
	at := func(further ...Action) (*Driver, []Action) {
		d := newDriver(deployment.NewSimulation(s.Scenario, world.Plain{}), s)
		for _, a := range append(slices.Clone(path), further...) {
			do(d, a)
		}
		return d, slices.Clone(enabled(d))
	}
	d, acts := at()
	end(d)
	all := map[string]int{}
	for _, a := range acts {
		d, _ := at(a)
		key := fmt.Sprintf("%d to %x", a.Kind, stateHash(d))
		if a.Costs() {
			before, _ := at()
			key = fmt.Sprintf("%s%x to %x", spoils, label(before, stateHash(before), a), stateHash(d))
			end(before)
		}
		all[key]++
		end(d)
	}
	return all
}

// spoils begins the name of something that goes wrong.
const spoils = "wrong: "

// bothSpoil leaves those of them that are looked at after both paths: what can go wrong is looked at where it
// makes a difference first, and added up over all paths to a state.
func bothSpoil(a, b map[string]int) {
	can := func(all map[string]int) map[string]bool {
		what := map[string]bool{}
		for key := range all {
			before, _, _ := strings.Cut(key, " to ")
			what[before] = true
		}
		return what
	}
	one := can(a)
	other := can(b)
	for _, all := range []map[string]int{a, b} {
		maps.DeleteFunc(all, func(key string, _ int) bool {
			before, _, _ := strings.Cut(key, " to ")
			return strings.HasPrefix(key, spoils) && (!one[before] || !other[before])
		})
		for key := range all {
			if strings.HasPrefix(key, spoils) {
				all[key] = 1 // two that are alike count as one
			}
		}
	}
}
