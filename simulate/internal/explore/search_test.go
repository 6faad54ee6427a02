// Package explore goes through all that can happen in a small world, and runs the gate of the simulator.
package explore

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Explored is the result for one scope.
type Explored struct {
	Name         string
	States, Ends int
	Left         int // branches that were left out because the time was over
	Whole        int // most faults on a path that were covered in full; -1 if not even none
}

func (e Explored) String() string {
	return fmt.Sprintf("%-45s %8d states, %6d ends, whole with %d faults on a path, %d branches left", e.Name, e.States,
		e.Ends, e.Whole, e.Left)
}

// Found is a path that breaks an invariant, as short in faults as there is one.
type Found struct {
	Scope     string
	Path      []string
	Violation *world.Violation
}

// explore goes through all that can happen in the scopes: every order of calls and messages, at every place,
// with up to `faults` things going wrong on a path: a process dies between two calls, a handler or a message
// stands still for any time, a message comes twice or never, a call goes wrong in any way that it can. A
// state that was seen is not gone through twice. A state in which nothing can happen and orders have no end
// is a violation, and so is one from which no end can be reached. What happens without faults is gone through
// in any case; for the rest it stops when the time is over, or something was found.
func explore(scopes []Scope, faults int, most time.Duration) (all []Explored, found []Found) {
	searches := make([]*exploring, len(scopes))
	for i := range scopes {
		searches[i] = newExploring(&scopes[i])
	}
	end := time.Now().Add(most)
	for goes := true; goes; {
		goes = false
		for n := 0; n <= faults; n++ {
			goes = pass(searches, n, faults, end) || goes
		}
	}
	for _, x := range searches {
		x.unending()
		all = append(all, Explored{x.scope.Name, len(x.seen), len(x.ends), len(x.open) + len(x.wrong), x.whole})
		found = append(found, x.found...)
	}
	return all, found
}

// pass takes every scope that has come so far one fault further, small ones first: each may take twice
// its share of the time that is left, so that what the small ones leave is for the large ones.
func pass(all []*exploring, n, faults int, end time.Time) (goes bool) {
	var ready []*exploring
	for _, x := range all {
		if len(x.found) > 0 {
			return false
		}
		if x.whole == n-1 {
			ready = append(ready, x)
		}
	}
	slices.SortStableFunc(ready, func(a, b *exploring) int { return len(a.seen) - len(b.seen) })
	var next atomic.Int64
	onAllCores(func() {
		for i := int(next.Add(1)) - 1; i < len(ready); i = int(next.Add(1)) - 1 {
			share := time.Until(end) * time.Duration(2*runtime.GOMAXPROCS(0)) / time.Duration(len(ready)-i+1)
			until := time.Now().Add(share)
			if n == 0 {
				until = time.Time{}
			} else if end.Before(until) {
				until = end
			}
			ready[i].level(n < faults, until)
		}
	})
	return len(ready) > 0 && time.Now().Before(end)
}

// exploring is the search through one scope.
type exploring struct {
	scope  *Scope
	seen   map[uint64]*place
	spoilt map[uint64]struct{} // noted violations, by state
	ends   map[uint64]struct{}
	edges  []edge   // edges without a fault: an end has to be reached without more faults
	open   []branch // branches of this level
	wrong  []branch // branches of the next level, with one fault more
	whole  int      // levels that were covered, less one
	found  []Found
	extend bool
}

type edge struct{ from, to uint64 }

// place is a way to a state.
type place struct {
	before *place
	by     Action
	state  uint64
}

// branch is something that can happen in a state, and was not looked at.
type branch struct {
	at *place
	by Action
}

func newExploring(s *Scope) *exploring {
	s.Prepare()
	x := &exploring{
		scope: s, seen: map[uint64]*place{}, spoilt: map[uint64]struct{}{}, ends: map[uint64]struct{}{}, whole: -1,
	}
	d := newDriver(deployment.NewSimulation(s.Scenario, world.Plain{}), s)
	defer end(d)
	x.visit(d, &place{state: stateHash(d)})
	return x
}

// level goes through everything with one number of faults, or stops at a time, unless that is zero.
func (x *exploring) level(extend bool, until time.Time) {
	x.extend = extend
	for runs := 0; len(x.open) > 0; runs++ {
		if runs%64 == 0 && !until.IsZero() && time.Now().After(until) {
			return
		}
		b := x.open[len(x.open)-1]
		x.open = x.open[:len(x.open)-1]
		x.run(b)
		if len(x.found) > 0 {
			return
		}
	}
	x.whole++
	if extend {
		x.open = x.wrong
		x.wrong = nil
	}
}

// run goes to a branch and on from there, up to a state that was seen or to the end.
func (x *exploring) run(b branch) {
	d := x.reach(b.at)
	defer end(d)
	at := b.at
	by := b.by
	for {
		do(d, by)
		next := &place{before: at, by: by, state: stateHash(d)}
		more, ok := x.visit(d, next)
		if !ok {
			return
		}
		at = next
		by = more
	}
}

// reach makes the world of a place anew, from the beginning: a handler is a coroutine, and Go copies none.
func (x *exploring) reach(at *place) *Driver {
	d := newDriver(deployment.NewSimulation(x.scope.Scenario, world.Plain{}), x.scope)
	for _, a := range at.path() {
		do(d, a)
	}
	return d
}

func (p *place) path() []Action {
	var all []Action
	for ; p.before != nil; p = p.before {
		all = append(all, p.by)
	}
	slices.Reverse(all)
	return all
}

// visit notes a state, and all that can happen in it but the first, which it answers. What can go wrong
// is looked at where it makes a difference first, right after the action that led there (see
// driver.steps and driver.fresh), so that a state that is met again can have more of it.
func (x *exploring) visit(d *Driver, at *place) (first Action, ok bool) {
	acts := enabled(d)
	labels := x.labels(d, at)
	if at.before != nil && !at.by.Costs() {
		x.edges = append(x.edges, edge{at.before.state, at.state})
	}
	if d.W.Violation != nil {
		x.broken(at, d.W.Violation)
		return first, false
	}
	for i, l := range labels {
		if _, known := x.spoilt[l]; !known && l != 0 {
			x.spoilt[l] = struct{}{}
			x.wrong = append(x.wrong, branch{at, acts[i]})
		}
	}
	if _, known := x.seen[at.state]; known {
		return first, false
	}
	x.seen[at.state] = at
	if x.scope.Watching != nil {
		x.scope.Watching(d.W)
	}
	if atEnd(d) {
		x.ends[at.state] = struct{}{}
	}
	for _, a := range acts {
		switch {
		case a.Costs():
		case !ok && at.before != nil:
			first = a
			ok = true
		default:
			x.open = append(x.open, branch{at, a})
		}
	}
	if !ok && at.before != nil {
		if check.Letters(d.W); d.W.Violation == nil && !atEnd(d) {
			d.W.Violate("5", "nothing can happen any more, and there are orders without an end: %s",
				deployment.Unended(d.W))
		}
		if d.W.Violation != nil {
			x.broken(at, d.W.Violation)
		}
	}
	return first, ok
}

// labels returns the faults that can come next, on any path. A label is 0 if there is no fault, or if the
// search does not look at it any more.
func (x *exploring) labels(d *Driver, at *place) []uint64 {
	if !x.extend && at.before != nil {
		return nil
	}
	all := make([]uint64, len(d.Acts))
	for i, a := range d.Acts {
		if a.Costs() {
			all[i] = label(d, at.state, a)
		}
	}
	return all
}

func (x *exploring) broken(at *place, v *world.Violation) {
	f := Found{Scope: x.scope.Name, Violation: v}
	for _, l := range story(x.scope, at.path()) {
		f.Path = append(f.Path, l.String())
	}
	x.found = append(x.found, f)
}

// unending looks for states from which no end can be reached.
func (x *exploring) unending() {
	before := make(map[uint64][]uint64, len(x.seen))
	for _, e := range x.edges {
		before[e.to] = append(before[e.to], e.from)
	}
	good := make(map[uint64]struct{}, len(x.seen))
	var todo []uint64
	reached := func(s uint64) {
		if _, known := good[s]; !known {
			good[s] = struct{}{}
			todo = append(todo, s)
		}
	}
	for s := range x.ends {
		reached(s)
	}
	for _, b := range x.open {
		if !b.by.Costs() { // The search did not explore what follows a fault.
			reached(b.at.state)
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range before[s] {
			reached(from)
		}
	}
	for s, at := range x.seen {
		if _, ok := good[s]; !ok && len(x.found) == 0 {
			x.broken(at, &world.Violation{
				Invariant: "5",
				Text:      "from here no end can be reached, however long nothing more goes wrong",
			})
		}
	}
}

// story runs a path again and traces what happens.
func story(s *Scope, path []Action) []world.Line {
	w := deployment.NewSimulation(s.Scenario, world.Plain{})
	w.Tracing = true
	d := newDriver(w, s)
	defer end(d)
	for _, a := range path {
		do(d, a)
	}
	return w.Story
}

// end lets no coroutine behind.
func end(d *Driver) {
	for _, p := range d.W.Procs {
		for _, iv := range p.Running {
			iv.Dead = true
			d.W.Corpses = append(d.W.Corpses, iv)
		}
	}
	deployment.Bury(d.W)
}
