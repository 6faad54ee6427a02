package explore

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// cells returns the cells that can exist, and those that cannot.
func cells() (can, cannot []world.Cell) {
	for r := range world.RoleCount {
		for c := range world.CallCount {
			for _, a := range world.ActsAt[c] {
				cell := world.Cell{Site: world.Sites[r][c], Act: a.String()}
				if world.Absent(r, c, a) {
					cannot = append(cannot, cell)
				} else {
					can = append(can, cell)
				}
			}
		}
	}
	return can, cannot
}

// places lists every fault that can be put anywhere on the scene's plain course, where no other fault happens.
func places(s *Scene) (all []world.Choice) {
	w := deployment.NewSimulation(s.Scenario, simulate.Plain{})
	w.Listing = true
	deployment.SetUp(w)
	deployment.Play(w)
	for _, p := range w.Points {
		for r := range world.Sites {
			c := slices.Index(world.Sites[r][:], p.Site)
			if c < 0 || s.Base(p) > 0 {
				continue
			}
			for v, act := range world.ActsAt[c] {
				if !w.Impossible(world.Role(r), world.Call(c), act) { //nolint:gosec // small
					all = append(all, world.Choice{At: p.Site, Of: p.Subject, Nth: p.Nth, Value: v + 1, What: act.String()})
				}
			}
		}
	}
	return all
}

// job is a run of a scene with faults at places.
type job struct {
	scene   *Scene
	choices []world.Choice
}

// jobs yields every single fault at every place of the scenes, and as many pairs in each scene, spread evenly.
func jobs(scenes []Scene, pairs int, yield func(job)) {
	for i := range scenes {
		s := &scenes[i]
		all := places(s)
		for _, c := range all {
			yield(job{s, []world.Choice{c}})
		}
		n := len(all)
		for k := range pairs {
			yield(job{s, []world.Choice{all[(k*7919)%n], all[(k*104729+k/n+1)%n]}})
		}
	}
}

// TestSingleFaults tries every fault at every place of every base scenario: each place and each cell is hit.
func TestSingleFaults(t *testing.T) {
	defer simulate.Spacious()()
	all := scenes()
	if testing.Short() {
		all = all[:8]
	}
	ready := make(chan job, 64)
	go func() {
		defer close(ready)
		jobs(all, *pairs, func(j job) { ready <- j })
	}()
	var mu sync.Mutex
	hits := map[world.Cell]int{}
	runs := 0
	bad := 0
	onAllCores(func() {
		for j := range ready {
			r := simulate.Run(j.scene.Scenario, simulate.NewPlayer(j.choices), simulate.Options{})
			place := j.choices[0]
			hit := slices.ContainsFunc(r.Choices, func(c world.Choice) bool {
				c.Value = place.Value
				return c == place
			})
			mu.Lock()
			runs++
			for c, n := range r.Cells {
				hits[c] += n
			}
			if missed := len(j.choices) == 1 && !hit; missed || r.Violation != nil {
				if bad++; bad < 10 {
					t.Errorf("%s, %+v: hit %v, %v", j.scene.Name, j.choices, hit, r.Violation)
				}
			}
			mu.Unlock()
		}
	})
	can, cannot := cells()
	for _, c := range cannot {
		require.LessOrEqual(t, hits[c], 0, c.Act)
	}
	for _, c := range can {
		if hits[c] == 0 && !testing.Short() {
			t.Errorf("never hit: %s at %s", c.Act, c.Site)
		}
	}
	t.Logf("%d scenes, %d runs", len(all), runs)
}
