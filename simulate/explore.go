package simulate

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/message"
)

// Scope is a small world that an exploration goes through as a whole.
type Scope struct {
	Name string
	Scenario
	People   []message.ControlKind // commands that are given at any time, in this order
	Refuses  string                // a step whose do its service refuses each time; "": none
	Corrects string                // a step that a Resubmit gives another input; "": none
	Down     []string              // processes that come up at any time, and not at the beginning

	// every call is interleaved with every other: to hold the reductions against
	entangled bool
	watching  func(*simulation, *place) // sees every state
}

// Exploration is what an exhaustive search has covered.
type Exploration struct {
	States int // distinct
	Steps  int // from one state to another
	Runs   int // a state cannot be copied: each branch is run again from its beginning
	Ends   int // states in which every order rests
	Faults int // bound: most things that go wrong on one path
	Whole  bool
	Left   int // branches that were left out because the time was over
	Scopes []Explored
	Found  []Found
}

// Explored is what was covered of one scope.
type Explored struct {
	Name   string `json:"name"`
	States int    `json:"states"`
	Ends   int    `json:"ends"`
	Left   int    `json:"left"`   // branches with one fault more that were left out
	Whole  int    `json:"faults"` // every path with so many faults was covered; -1: not even those without
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
	Violation *Violation
	path      []action
}

// Explore goes through all that can happen in the scopes: every order of calls and messages, at every place,
// with up to `faults` things going wrong on a path: a process dies between two calls, a handler or a message
// stands still for any time, a message comes twice or never, a call goes wrong in any way that it can. A
// state that was seen is not gone through twice. A state in which nothing can happen and orders have no end
// is a violation, and so is one from which no end can be reached. What happens without faults is gone through
// in any case; for the rest it stops when the time is over, or something was found. Time is counted as by a
// stopwatch: a busy machine takes up to twice as long. progress may be nil.
func Explore(scopes []Scope, faults, workers int, most time.Duration,
	progress func(*Exploration)) *Exploration {
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
	for again := true; again && watch.passed() < most; { // what was not done in its share of the time
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
	spoilt map[uint64]struct{} // what goes wrong in a state, and was noted
	ends   map[uint64]struct{}
	kept   []*place // that have a snapshot
	turn   int      // the oldest of them
	steps  int
	edges  []edge   // those without a fault: an end has to be reached without more of them
	open   []branch // of this level
	wrong  []branch // of the next one, with one fault more
	runs   int
	whole  int // levels that were covered, less one
	cut    bool
	found  []Found
	extend bool
	watch  *stopwatch
	until  time.Duration // 0: without end
}

type edge struct{ from, to uint64 }

// place is a way to a state.
type place struct {
	before *place
	by     action
	state  uint64
	world  atomic.Pointer[simulation] // a snapshot; nil: none, or not any more
	frozen *place                     // where the last of its handlers came to stand still, if there are any
}

// branch is something that can happen in a state, and was not looked at.
type branch struct {
	at *place
	by action
}

func newExploring(s *Scope, workers int) *exploring {
	s.Prepare()
	x := &exploring{scope: s, workers: max(1, workers), seen: map[uint64]*place{},
		spoilt: map[uint64]struct{}{}, ends: map[uint64]struct{}{}, whole: -1}
	x.wait = sync.NewCond(&x.mu)
	d := newDriver(newSimulation(s.Scenario, Plain{}), s)
	first := &place{state: d.state()}
	x.visit(d, first)
	return x
}

// level goes through everything with one number of faults.
func (x *exploring) level(extend bool, until time.Duration) {
	x.extend, x.until, x.cut = extend, until, false
	var all sync.WaitGroup
	for range x.workers {
		all.Go(x.work)
	}
	all.Wait()
	for _, p := range x.kept { // others need the memory
		p.world.Store(nil)
	}
	x.kept, x.turn = nil, 0
	if x.cut || len(x.found) > 0 {
		return
	}
	x.whole++
	if extend {
		x.open, x.wrong = x.wrong, nil
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
	defer d.end()
	at, by := b.at, b.by
	for {
		d.do(by)
		next := &place{before: at, by: by, state: d.state()}
		more, ok := x.visit(d, next)
		if !ok {
			return
		}
		x.keep(next, d)
		at, by = next, more
	}
}

// reach makes the world of a place anew, from the last snapshot before it.
func (x *exploring) reach(at *place) *driver {
	var way []*place
	var from *simulation
	for ; ; at = at.before {
		if from = at.world.Load(); from != nil || at.before == nil {
			break
		}
		way = append(way, at)
	}
	var d *driver
	switch {
	case from == nil:
		d = newDriver(newSimulation(x.scope.Scenario, Plain{}), x.scope)
	case len(from.held) == 0:
		d = from.snapshot().driver
	default:
		d = x.reach(at.frozen)
		d.w.become(from)
	}
	for i := len(way) - 1; i >= 0; i-- {
		d.do(way[i].by)
		x.keep(way[i], d)
	}
	return d
}

// lastFrozen is where a handler came to stand still last.
func (p *place) lastFrozen() *place {
	for p.by.kind != freezes {
		p = p.before
	}
	return p
}

// maxKept is how many snapshots are kept at a time of one scope. Each takes some kilobytes; a place
// whose snapshot is gone is reached from an earlier one, or from the beginning.
const maxKept = 20_000

// keep takes a snapshot where the world can be copied, in place of the oldest one if there are many.
func (x *exploring) keep(at *place, d *driver) {
	all, any := d.w.standing()
	if !all || d.w.violation != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if any && at.frozen == nil {
		at.frozen = at.lastFrozen()
	}
	if at.frozen == at || at.world.Load() != nil {
		return
	}
	at.world.Store(d.w.snapshot())
	if len(x.kept) < maxKept {
		x.kept = append(x.kept, at)
		return
	}
	x.kept[x.turn].world.Store(nil)
	x.kept[x.turn] = at
	x.turn = (x.turn + 1) % maxKept
}

func (p *place) path() []action {
	var all []action
	for ; p.before != nil; p = p.before {
		all = append(all, p.by)
	}
	slices.Reverse(all)
	return all
}

// visit notes a state, and all that can happen in it but the first, which it answers. What can go wrong
// is looked at where it makes a difference first, right after the action that led there (see
// driver.steps and driver.fresh), so that a state that is met again can have more of it.
func (x *exploring) visit(d *driver, at *place) (first action, ok bool) {
	acts, labels := d.enabled(), x.labels(d, at)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.steps++; at.before != nil && !at.by.costs() {
		x.edges = append(x.edges, edge{at.before.state, at.state})
	}
	if d.w.violation != nil {
		x.broken(at, d.w.violation)
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
	if x.scope.watching != nil {
		x.scope.watching(d.w, at)
	}
	if d.atEnd() {
		x.ends[at.state] = struct{}{}
	}
	for _, a := range acts {
		switch {
		case a.costs():
		case !ok && at.before != nil:
			first, ok = a, true
		default:
			x.open = append(x.open, branch{at, a})
		}
	}
	if !ok && at.before != nil {
		if d.w.letters(); d.w.violation == nil && !d.atEnd() {
			d.w.violate("5", "nothing can happen any more, and there are orders without an end: %s",
				d.w.unended())
		}
		if d.w.violation != nil {
			x.broken(at, d.w.violation)
		}
	}
	if len(x.open) > 0 {
		x.wait.Broadcast()
	}
	return first, ok
}

// labels names what can go wrong next, in whatever path; 0 where nothing does, or it is not looked at any
// more.
func (x *exploring) labels(d *driver, at *place) []uint64 {
	if !x.extend && at.before != nil {
		return nil
	}
	all := make([]uint64, len(d.acts))
	for i, a := range d.acts {
		if a.costs() {
			all[i] = d.label(at.state, a)
		}
	}
	return all
}

func (x *exploring) broken(at *place, v *Violation) {
	x.found = append(x.found, Found{Scope: x.scope.Name, Violation: v, path: at.path()})
	f := &x.found[len(x.found)-1]
	for _, l := range x.scope.story(f.path) {
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
		if !b.by.costs() { // what comes after that was not explored
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
			x.broken(at, &Violation{Invariant: "5",
				Text: "from here no end can be reached, however long nothing more goes wrong"})
		}
	}
}

// Tape records the path, for --replay and for the corpus.
func (f *Found) Tape() *Tape {
	return &Tape{Schema: 1, Note: f.Violation.Text, Invariant: f.Violation.Invariant, Choices: []Choice{},
		Scope: f.Scope, Path: f.path}
}

// follow goes a path through a small world. It ends early where the path cannot go on: the program
// has changed.
func (t *Tape) follow(o Options) (Result, error) {
	all := SmallScopes()
	i := slices.IndexFunc(all, func(s Scope) bool { return s.Name == t.Scope })
	if i < 0 {
		return Result{}, fmt.Errorf("there is no small world %q; the tape was recorded by another version",
			t.Scope)
	}
	all[i].Prepare()
	w := newSimulation(all[i].Scenario, Plain{})
	w.tracing = o.Story
	d := newDriver(w, &all[i])
	defer d.end()
	for _, a := range t.Path {
		if w.violation != nil || !slices.Contains(d.enabled(), a) {
			break
		}
		d.do(a)
	}
	return Result{Stats: w.Stats, Violation: w.violation, Story: w.story, Checks: w.checks.counted()}, nil
}

// story runs a path again and traces what happens.
func (s *Scope) story(path []action) []Line {
	w := newSimulation(s.Scenario, Plain{})
	w.tracing = true
	d := newDriver(w, s)
	defer d.end()
	for _, a := range path {
		d.do(a)
	}
	return w.story
}

// end lets no coroutine behind.
func (d *driver) end() {
	for _, p := range d.w.procs {
		for _, iv := range p.running {
			iv.dead = true
			d.w.corpses = append(d.w.corpses, iv)
		}
	}
	d.w.bury()
}
