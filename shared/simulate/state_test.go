package simulate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
				if !maps.Equal(a, b) {
					t.Fatalf("%s: the same hash after\n%v\nand\n%v\nand then\n%v\nand\n%v", s.Name, one, other, a, b)
				}
			})
		}
	}
	if compared < walks {
		t.Errorf("only %d states were met by two paths", compared)
	}
	t.Logf("%d states were met by two paths", compared)
}

// walk takes a random path with few faults, and tells of states that were met by another path.
func (s *Scope) walk(rng *rand.Rand, first map[uint64][]action, met func(one, other []action)) {
	var path []action
	d := newDriver(newWorld(s.Scenario, Plain{}), s)
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
		d := newDriver(newWorld(s.Scenario, Plain{}), s)
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
		all[fmt.Sprintf("%d/%d %x", a.kind, a.nth, d.state())]++
		d.end()
	}
	return all
}
