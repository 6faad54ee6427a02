// Package explore goes through all that can happen in a small world, and keeps what broke as a tape.
package explore

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Exploration is the result of an exhaustive search.
type Exploration struct {
	States int // distinct
	Steps  int // steps from one state to another
	Runs   int // a state cannot be copied: each branch is run again from its beginning
	Ends   int // states in which every order rests
	Faults int // bound: most things that go wrong on one path
	Whole  bool
	Left   int // branches that were left out because the time was over
	Scopes []Explored
	Found  []Found
}

// Explored is the result for one scope.
type Explored struct {
	Name   string `json:"name"`
	States int    `json:"states"`
	Ends   int    `json:"ends"`
	Left   int    `json:"left"`   // branches with one fault more that were left out
	Whole  int    `json:"faults"` // most faults on a path that were covered in full; -1 if not even none
}

func (e Explored) String() string {
	whole := "not even whole without faults"
	if e.Whole >= 0 {
		whole = fmt.Sprintf("whole with %d faults on a path", e.Whole)
	}
	cut := ""
	if e.Left > 0 {
		cut = fmt.Sprintf(", cut at %d (%d branches left)", e.Whole+1, e.Left)
	}
	return fmt.Sprintf("%-45s %8d states, %6d ends, %s%s", e.Name, e.States, e.Ends, whole, cut)
}

// Found is a path that breaks an invariant, as short in faults as there is one.
type Found struct {
	Scope     string
	Path      []string
	Violation *world.Violation
	path      []Action
}

// explore goes through all that can happen in the scopes: every order of calls and messages, at every place,
// with up to `faults` things going wrong on a path: a process dies between two calls, a handler or a message
// stands still for any time, a message comes twice or never, a call goes wrong in any way that it can. A
// state that was seen is not gone through twice. A state in which nothing can happen and orders have no end
// is a violation, and so is one from which no end can be reached. What happens without faults is gone through
// in any case; for the rest it stops when the time is over, or something was found. Time is counted as by a
// stopwatch: a busy machine takes up to twice as long. progress may be nil.
func explore(scopes []Scope, faults, workers int, most time.Duration,
	progress func(*Exploration),
) *Exploration {
	e := &Exploration{Faults: faults, Whole: true}
	watch := newStopwatch(workers)
	all := make([]*exploring, len(scopes))
	for i := range scopes {
		all[i] = newExploring(&scopes[i], workers)
		all[i].watch = watch
	}
	reported := func() {
		if progress != nil {
			progress(summed(e, all))
		}
	}
	found := func() bool {
		return slices.ContainsFunc(all, func(x *exploring) bool { return len(x.found) > 0 })
	}
	for n := 0; n <= faults && !found(); n++ {
		pass(all, n, faults, most, reported)
	}
	for again := true; again && watch.passed() < most; { // unfinished passes
		again = false
		for n := 0; n <= faults && !found(); n++ {
			again = pass(all, n, faults, most, reported) || again
		}
	}
	for _, x := range all {
		x.unending()
	}
	return summed(e, all)
}

// pass takes every scope that has come so far one fault further, small ones first: each may take twice
// its share of the time that is left, so that what the small ones leave is for the large ones.
func pass(all []*exploring, n, faults int, most time.Duration, reported func()) (any bool) {
	var ready []*exploring
	for _, x := range all {
		if x.whole == n-1 && len(x.found) == 0 {
			ready = append(ready, x)
		}
	}
	slices.SortStableFunc(ready, func(a, b *exploring) int { return len(a.seen) - len(b.seen) })
	for i, x := range ready {
		passed := x.watch.passed()
		if n > 0 && passed >= most {
			break
		}
		until := passed + (most-passed)*2/time.Duration(len(ready)-i+1)
		if n == 0 {
			until = 0
		}
		x.level(n < faults, until)
		if reported(); len(x.found) > 0 {
			return false
		}
	}
	return len(ready) > 0
}

func summed(e *Exploration, all []*exploring) *Exploration {
	sum := &Exploration{Faults: e.Faults, Whole: true}
	for _, x := range all {
		sum.States += len(x.seen)
		sum.Steps += x.steps
		sum.Runs += x.runs
		sum.Ends += len(x.ends)
		sum.Left += len(x.open) + len(x.wrong)
		sum.Whole = sum.Whole && x.whole >= e.Faults
		sum.Scopes = append(sum.Scopes,
			Explored{x.scope.Name, len(x.seen), len(x.ends), len(x.open) + len(x.wrong), x.whole})
		sum.Found = append(sum.Found, x.found...)
	}
	return sum
}

// exploring is the search through one scope.
type exploring struct {
	scope   *Scope
	workers int

	mu     sync.Mutex
	wait   *sync.Cond
	busy   int
	seen   map[uint64]*place
	spoilt map[uint64]struct{} // noted violations, by state
	ends   map[uint64]struct{}
	steps  int
	edges  []edge   // edges without a fault: an end has to be reached without more faults
	open   []branch // branches of this level
	wrong  []branch // branches of the next level, with one fault more
	runs   int
	whole  int // levels that were covered, less one
	cut    bool
	found  []Found
	extend bool
	watch  *stopwatch
	until  time.Duration // end of the search; 0 means no end
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

func newExploring(s *Scope, workers int) *exploring {
	s.Prepare()
	x := &exploring{
		scope: s, workers: max(1, workers), seen: map[uint64]*place{},
		spoilt: map[uint64]struct{}{}, ends: map[uint64]struct{}{}, whole: -1,
	}
	x.wait = sync.NewCond(&x.mu)
	d := newDriver(deployment.NewSimulation(s.Scenario, world.Plain{}), s)
	first := &place{state: stateHash(d)}
	x.visit(d, first)
	return x
}

// level goes through everything with one number of faults.
func (x *exploring) level(extend bool, until time.Duration) {
	x.extend = extend
	x.until = until
	x.cut = false
	var all sync.WaitGroup
	for range x.workers {
		all.Go(x.work)
	}
	all.Wait()
	if x.cut || len(x.found) > 0 {
		return
	}
	x.whole++
	if extend {
		x.open = x.wrong
		x.wrong = nil
	}
}

func (x *exploring) work() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		for len(x.open) == 0 && x.busy > 0 {
			x.wait.Wait()
		}
		if len(x.open) == 0 || x.cut || len(x.found) > 0 {
			x.wait.Broadcast()
			return
		}
		if x.runs%64 == 0 && x.until > 0 && x.watch.passed() > x.until {
			x.cut = true
			continue
		}
		b := x.open[len(x.open)-1]
		x.open = x.open[:len(x.open)-1]
		x.busy++
		x.runs++
		x.mu.Unlock()
		x.run(b)
		x.mu.Lock()
		x.busy--
		x.wait.Broadcast()
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
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.steps++; at.before != nil && !at.by.Costs() {
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
	if len(x.open) > 0 {
		x.wait.Broadcast()
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
	x.found = append(x.found, Found{Scope: x.scope.Name, Violation: v, path: at.path()})
	f := &x.found[len(x.found)-1]
	for _, l := range story(x.scope, f.path) {
		f.Path = append(f.Path, l.String())
	}
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

// write keeps the path in a file, for -replay.
func (f *Found) write(file string) error {
	data, err := json.Marshal(tape{f.Scope, f.path})
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// tape is a path through a small world.
type tape struct {
	Scope string
	Path  []Action
}

// replay goes the path of a file through its small world. It ends early where the path cannot go on because
// the program has changed.
func replay(file string) (story []world.Line, v *world.Violation, err error) {
	var t tape
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return nil, nil, err
	}
	all := smallScopes()
	i := slices.IndexFunc(all, func(s Scope) bool { return s.Name == t.Scope })
	if i < 0 {
		return nil, nil, fmt.Errorf("there is no small world %q; another version recorded the tape", t.Scope)
	}
	all[i].Prepare()
	w := deployment.NewSimulation(all[i].Scenario, world.Plain{})
	w.Tracing = true
	d := newDriver(w, &all[i])
	defer end(d)
	for _, a := range t.Path {
		if w.Violation != nil || !slices.Contains(enabled(d), a) {
			break
		}
		do(d, a)
	}
	return w.Story, w.Violation, nil
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
