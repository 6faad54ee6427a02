package simulate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestStatesWithOneHashGoOnAlike: where two paths come to states with the same hash, the same can
// happen next, with the same outcomes. Otherwise the exploration would leave out what it has not seen.
func TestStatesWithOneHashGoOnAlike(t *testing.T) {
	walks, compared := 400, 0
	if testing.Short() {
		walks = 60
	}
	for _, s := range SmallScopes() {
		s.Prepare()
		rng := rand.New(rand.NewPCG(7, uint64(len(s.Name)))) //nolint:gosec // not for secrets
		first := map[uint64][]action{}
		for range walks / 10 {
			s.walk(rng, first, func(one, other []action) {
				if compared++; compared%7 != 0 { // each takes a run for all that can happen next
					return
				}
				a, b := s.successors(one), s.successors(other)
				bothSpoil(a, b)
				if !maps.Equal(a, b) {
					t.Fatalf("%s: the same hash after\n%v\nand\n%v\nand then\n%v\nand\n%v", s.Name, one,
						other, a, b)
				}
			})
		}
	}
	if compared < walks {
		t.Errorf("only %d states were met by two paths", compared)
	}
	t.Logf("%d states were met by two paths", compared)
}

// walk takes a random path with few faults, and checks states that were met by another path.
func (s *Scope) walk(rng *rand.Rand, first map[uint64][]action, met func(one, other []action)) {
	var path []action
	d := newDriver(newSimulation(s.Scenario, Plain{}), s)
	defer d.end()
	for range 60 {
		acts := slices.Clone(d.enabled())
		if rng.IntN(12) > 0 {
			acts = slices.DeleteFunc(acts, action.costs)
		}
		if len(acts) == 0 {
			return
		}
		a := acts[rng.IntN(len(acts))]
		d.do(a)
		path = append(path, a)
		h := d.state()
		if was, known := first[h]; !known {
			first[h] = slices.Clone(path)
		} else if !slices.Equal(was, path) {
			met(was, path)
		}
	}

}

// successors counts the states that can follow.
func (s *Scope) successors(path []action) map[string]int {
	at := func(further ...action) (*driver, []action) {
		d := newDriver(newSimulation(s.Scenario, Plain{}), s)
		for _, a := range append(slices.Clone(path), further...) {
			d.do(a)
		}
		return d, slices.Clone(d.enabled())
	}
	d, acts := at()
	d.end()
	all := map[string]int{}
	for _, a := range acts {
		d, _ := at(a)
		key := fmt.Sprintf("%d to %x", a.kind, d.state())
		if a.costs() {
			before, _ := at()
			key = fmt.Sprintf("%s%x to %x", spoils, before.label(before.state(), a), d.state())
			before.end()
		}
		all[key]++
		d.end()
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
	one, other := can(a), can(b)
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
