package explore

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate"
)

// course is a run of one order of a drawn workflow, with what its seed has chosen.
type course struct {
	seed     uint64
	scenario simulate.Scenario
	choices  []simulate.Choice
}

// newCourse returns the course of a seed.
func newCourse(seed uint64) *course {
	sc := simulate.Scenario{Definition: drawnWorkflow(seed), Orders: 1}
	sc.Prepare()
	return &course{seed, sc, simulate.Run(sc, simulate.NewSeeded(seed)).Choices}
}

// run plays the course with further faults.
func (c *course) run(faults ...simulate.Choice) simulate.Result {
	return simulate.Run(c.scenario, simulate.NewPlayer(append(slices.Clip(c.choices), faults...)))
}

// quiet notes the points at which another chooser chooses 0.
type quiet struct {
	simulate.Chooser
	points []simulate.Point
}

// Choose returns what the other chooser chooses.
func (c *quiet) Choose(p simulate.Point, n int, odds float64) int {
	v := c.Chooser.Choose(p, n, odds)
	if v == 0 {
		c.points = append(c.points, p)
	}
	return v
}

// places lists every fault that can be put anywhere on the course, where no other fault happens.
func (c *course) places() (all []simulate.Choice) {
	noted := &quiet{Chooser: simulate.NewPlayer(c.choices)}
	w := simulate.NewSimulation(c.scenario, noted)
	simulate.SetUp(w)
	simulate.Play(w)
	for _, p := range noted.points {
		role, call, fault := simulate.CallAt(p.Site)
		if !fault {
			continue
		}
		for v, act := range simulate.Calls[call].Acts {
			if !w.Impossible(role, call, p.Subject, act) {
				all = append(all, simulate.Choice{At: p.Site, Of: p.Subject, Nth: p.Nth, Value: v + 1, What: act.String()})
			}
		}
	}
	return all
}

// job is a run of a course with faults at places.
type job struct {
	course *course
	faults []simulate.Choice
}

// jobs yields every single fault at every place of the courses, and as many pairs in each course, spread evenly.
func jobs(courses, pairs int, yield func(job)) {
	for n := range uint64(courses) { //nolint:gosec // small
		c := newCourse(5 * n) // of the first seeds alone, no agent gives a request back
		all := c.places()
		for _, fault := range all {
			yield(job{c, []simulate.Choice{fault}})
		}
		n := len(all)
		for k := range pairs {
			yield(job{c, []simulate.Choice{all[(k*7919)%n], all[(k*104729+k/n+1)%n]}})
		}
	}
}

// TestSingleFaults tries every fault at every place of drawn courses: each place and each cell is hit.
func TestSingleFaults(t *testing.T) {
	defer simulate.Spacious()()
	n := courses
	if testing.Short() {
		n = 8
	}
	ready := make(chan job, 64)
	go func() {
		defer close(ready)
		jobs(n, *pairs, func(j job) { ready <- j })
	}()
	var mu sync.Mutex
	total := simulate.NewStats()
	runs := 0
	bad := 0
	onAllCores(func() {
		for j := range ready {
			r := j.course.run(j.faults...)
			place := j.faults[0]
			hit := slices.ContainsFunc(r.Choices, func(c simulate.Choice) bool {
				c.Value = place.Value
				return c == place
			})
			mu.Lock()
			runs++
			total.Add(r.Stats)
			if missed := len(j.faults) == 1 && !hit; missed || r.Violation != nil {
				if bad++; bad < 10 {
					t.Errorf("course %d, %+v: hit %v, %v", j.course.seed, j.faults, hit, r.Violation)
				}
			}
			mu.Unlock()
		}
	})
	can, cannot := simulate.Cells(nil)
	for _, c := range cannot {
		require.Zero(t, total.Cells[c], c)
	}
	for _, c := range can {
		if total.Cells[c] == 0 && !testing.Short() {
			t.Errorf("never hit: %s", c)
		}
	}
	t.Logf("%d courses, %d runs", n, runs)
}
