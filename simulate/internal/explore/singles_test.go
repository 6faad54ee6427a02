package explore

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/simulate"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Matrix is every single fault at every place of every base scenario.
type Matrix struct {
	Scenes  int
	Runs    int
	Cells   map[world.Cell]int // number of hits of each cell
	Missing []world.Cell       // cells that can exist and were not hit
	Absent  []Absent           // cells that cannot exist
	Wrong   []Absent           // cells that were hit although they cannot exist
	Places  []Place            // every fault at every single call of every scenario
	Broken  []Broken
}

// Absent is a cell that cannot exist, and why.
type Absent struct {
	world.Cell
	Why string
}

// Place is one fault at one call of one scenario.
type Place struct {
	Scene  string
	Choice world.Choice
	Hits   int
	Why    string // it was not hit: why it cannot be
}

// Broken is a run that broke an invariant.
type Broken struct {
	Scene     string
	Choices   []world.Choice
	Violation *world.Violation
}

// singles tries every fault at every place of every base scenario, once. With pairs > 0 it tries
// that many pairs of each scene in addition, spread evenly.
func singles(base []Scene, workers, pairs int) *Matrix {
	m := &Matrix{Scenes: len(base), Cells: map[world.Cell]int{}}
	type job struct {
		scene   *Scene
		choices []world.Choice
	}
	jobs := make(chan job, 64)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range max(1, workers) {
		all.Go(func() {
			for j := range jobs {
				r := simulate.Run(j.scene.Scenario, simulate.NewPlayer(j.choices), simulate.Options{})
				mu.Lock()
				m.add(j.scene, j.choices, &r)
				mu.Unlock()
			}
		})
	}
	for i := range base {
		s := &base[i]
		places, cannot := places(s)
		mu.Lock()
		m.Places = append(m.Places, cannot...)
		mu.Unlock()
		for _, c := range places {
			jobs <- job{s, []world.Choice{c}}
		}
		for k := range pairs {
			n := len(places)
			a := (k * 7919) % n
			b := (k*104729 + k/n + 1) % n
			jobs <- job{s, []world.Choice{places[a], places[b]}}
		}
	}
	close(jobs)
	all.Wait()
	m.conclude()
	return m
}

// places lists every fault that can be put anywhere on the scene's plain course, and those that
// cannot.
func places(s *Scene) (all []world.Choice, cannot []Place) {
	w := deployment.NewSimulation(s.Scenario, simulate.Plain{})
	w.Listing = true
	deployment.SetUp(w)
	deployment.Play(w)
	for _, p := range w.Points {
		for v, name := range world.ActNames(p.Site) {
			c := world.Choice{At: p.Site, Of: p.Subject, Nth: p.Nth, Value: v + 1, What: name}
			r, site := siteOf(p.Site)
			switch why := w.Impossible(r, site, world.ActsAt[site][v]); {
			case s.Base(p) > 0:
				cannot = append(cannot, Place{
					s.Name, c, 0,
					"another fault happens there, which the scenario is about",
				})
			case why != "":
				cannot = append(cannot, Place{s.Name, c, 0, why})
			default:
				all = append(all, c)
			}
		}
	}
	return all, cannot
}

// siteOf is the opposite of sites.
func siteOf(name string) (world.Role, world.Call) {
	for r := range world.Sites {
		if c := slices.Index(world.Sites[r][:], name); c >= 0 {
			return world.Role(r), world.Call(c) //nolint:gosec // small
		}
	}
	return world.RoleCount, world.CallCount
}

func (m *Matrix) add(s *Scene, choices []world.Choice, r *world.Result) {
	scene := s.Name
	m.Runs++
	if len(choices) == 1 {
		p := Place{Scene: scene, Choice: choices[0]}
		if slices.ContainsFunc(r.Choices,
			func(c world.Choice) bool { c.Value = choices[0].Value; return c == choices[0] }) {
			p.Hits = 1
		}
		m.Places = append(m.Places, p)
	}
	for c, n := range r.Cells {
		m.Cells[c] += n
	}
	if r.Violation != nil {
		m.Broken = append(m.Broken, Broken{scene, choices, r.Violation})
	}
}

// conclude compares what was hit with what can exist.
func (m *Matrix) conclude() {
	for r := range world.Sites {
		for c := range world.Sites[r] {
			for _, a := range world.ActsAt[c] {
				cell := world.Cell{Site: world.Sites[r][c], Act: a.String()}
				switch why := absent(world.Role(r), world.Call(c), a); { //nolint:gosec // small
				case why != "" && m.Cells[cell] > 0:
					m.Wrong = append(m.Wrong, Absent{cell, why})
				case why != "":
					m.Absent = append(m.Absent, Absent{cell, why})
				case m.Cells[cell] == 0:
					m.Missing = append(m.Missing, cell)
				}
			}
		}
	}
}

// Unhit lists the places that were not hit although nothing says why.
func (m *Matrix) Unhit() (all []Place) {
	for _, p := range m.Places {
		if p.Hits == 0 && p.Why == "" {
			all = append(all, p)
		}
	}
	return all
}

// who makes a call, for those that do not.
var who = [world.CallCount]string{
	world.CallLoad: "only the Scheduler and the Supervisor read the state store; agents and applications " +
		"know " +
		"messages alone",
	world.CallOrder:  "only the Scheduler reads orders that are kept apart: it alone evaluates expressions",
	world.CallCommit: "only the Scheduler and the Supervisor write the state store",
	world.CallDue: "only the Supervisor looks through the index, and a Scheduler that " +
		"starts in one process " +
		"(P27)",
	world.CallLease: "only the Supervisor holds a lease: Schedulers may always work at the same time",
	world.CallSend: "an application's sends have no answer that the protocol could use; " +
		"what happens to its " +
		"messages is client.message",
	world.CallDelete: "the Supervisor takes from no queue",
	world.CallExtend: "it takes from no queue, or returns nothing to the queue: an " +
		"application that does not " +
		"delete gets it again",
	world.CallDepth:  "only the Supervisor looks for backlogs (P32)",
	world.CallAlert:  "only the Scheduler and the Supervisor raise alerts",
	world.CallEntry:  "only agents keep a ledger (P31)",
	world.CallMove:   "only agents keep a ledger (P31)",
	world.CallDo:     "only agents call services",
	world.CallUndo:   "only agents call services",
	world.CallPoll:   "the Supervisor takes from no queue: its schedule starts it",
	world.CallTick:   "only the Supervisor is started by a schedule",
	world.CallClock:  "the application's clock decides nothing",
	world.CallForge:  "forged and unreadable messages come from outside of the actors",
	world.CallExpire: "expiry is the store's own, whichever actor works",
	world.CallDeploy: "only the Scheduler picks the version of a workflow for an order",
}

// absent returns why a cell cannot exist, or "" if it can.
func absent(r world.Role, c world.Call, a world.Act) string {
	switch {
	case slices.Contains(world.Calls[r], c):
		return world.Absent(r, c, a)
	case r == world.ASupervisor && c == world.CallOrder:
		return "the Supervisor claims nothing (P16), so that it never evaluates an expression and needs " +
			"no order"
	}
	return who[c]
}

// TestSingleFaults tries every fault at every place of every base scenario: each cell is hit.
func TestSingleFaults(t *testing.T) {
	all := scenes()
	if len(all) < 20 {
		t.Errorf("only %d base scenarios", len(all))
	}
	if testing.Short() {
		all = all[:8]
	}
	m := singles(all, runtime.GOMAXPROCS(0), 0)
	for i, b := range m.Broken {
		if i < 10 {
			t.Errorf("%s, %+v: %v", b.Scene, b.Choices, b.Violation)
		}
	}
	for i, p := range m.Unhit() {
		if i < 10 {
			t.Errorf("%s: never hit, and nothing says why: %+v", p.Scene, p.Choice)
		}
	}
	for _, a := range m.Wrong {
		t.Errorf("%s at %s was hit, and cannot exist: %s", a.Act, a.Site, a.Why)
	}
	for _, a := range m.Absent {
		if a.Why == "" {
			t.Errorf("%s at %s cannot exist, and no reason is given", a.Act, a.Site)
		}
	}
	if !testing.Short() {
		for _, c := range m.Missing {
			t.Errorf("never hit: %s at %s", c.Act, c.Site)
		}
	}
	t.Logf("%d places; %d scenes, %d runs, %d of %d cells, %d cannot exist, %d broken", len(m.Places),
		m.Scenes, m.Runs, world.CellCount(nil)-len(m.Missing), world.CellCount(nil), len(m.Absent),
		len(m.Broken))
}
