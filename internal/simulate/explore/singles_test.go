package explore

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
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
	w      *simulate.Simulation
	points []simulate.Point
	again  []bool                        // by point: true if its handler has made a call before, without a fault
	calm   map[*simulate.Invocation]bool // handlers whose last call had no fault
}

// Choose returns what the other chooser chooses.
func (c *quiet) Choose(p simulate.Point, n int, odds float64) int {
	v := c.Chooser.Choose(p, n, odds)
	_, call, fault := simulate.CallAt(p.Site)
	if fault && v == 0 {
		c.points = append(c.points, p)
		c.again = append(c.again, c.calm[c.w.Cur])
	}
	if fault && c.w.Cur != nil && call != simulate.CallMessage {
		c.calm[c.w.Cur] = v == 0
	}
	return v
}

// often is how many times each act that stops a handler before its second call or a later one is tried. The handler does
// what it does if it stops after the call before, which is tried at every place.
const often = 20

// places lists the faults that can be put on the course, where no other fault happens. The parameter tried counts the
// acts before later calls.
func (c *course) places(tried map[string]int) (all []simulate.Choice) {
	q := &quiet{Chooser: simulate.NewPlayer(c.choices), calm: map[*simulate.Invocation]bool{}}
	w := simulate.NewSimulation(c.scenario, q)
	q.w = w
	simulate.SetUp(w)
	simulate.Play(w)
	stops := []simulate.Fault{simulate.CrashBefore, simulate.Zombie, simulate.Frozen}
	for i, p := range q.points {
		role, call, _ := simulate.CallAt(p.Site)
		for v, act := range simulate.Calls[call].Acts {
			cell := simulate.Sites[role][call] + act.String()
			again := q.again[i] && !act.After && slices.Contains(stops, act.Fault)
			if w.Impossible(role, call, p.Subject, act) || again && tried[cell] == often {
				continue
			}
			if again {
				tried[cell]++
			}
			all = append(all, simulate.Choice{At: p.Site, Of: p.Subject, Nth: p.Nth, Value: v + 1, What: act.String()})
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
	tried := map[string]int{}
	for n := range uint64(courses) { //nolint:gosec // small
		c := newCourse(5 * n) // of the first seeds alone, no agent gives a request back
		all := c.places(tried)
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
