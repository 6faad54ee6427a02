package simulate

import (
	"slices"
	"sync"
)

// Matrix is every single fault at every place of every base scenario.
type Matrix struct {
	Scenes  int
	Runs    int
	Cells   map[Cell]int // how often each was hit
	Missing []Cell       // that can exist and were not hit
	Absent  []Absent     // that cannot exist
	Broken  []Broken
	Hits    [faultCount]int
}

// Absent is a cell that cannot exist, and why.
type Absent struct {
	Cell
	Why string
}

// Broken is a run that broke an invariant.
type Broken struct {
	Scene     string
	Choices   []Choice
	Violation *Violation
}

// Singles tries every fault at every place of every base scenario, once. With pairs > 0 it tries
// that many pairs of each scene in addition, spread evenly.
func Singles(scenes []Scene, workers, pairs int) *Matrix {
	m := &Matrix{Scenes: len(scenes), Cells: map[Cell]int{}}
	type job struct {
		scene   *Scene
		choices []Choice
	}
	jobs := make(chan job, 64)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range max(1, workers) {
		all.Go(func() {
			for j := range jobs {
				r := Run(j.scene.Scenario, NewPlayer(j.choices), Options{})
				mu.Lock()
				m.add(j.scene.Name, j.choices, &r)
				mu.Unlock()
			}
		})
	}
	for i := range scenes {
		s := &scenes[i]
		places := s.places()
		for _, c := range places {
			jobs <- job{s, []Choice{c}}
		}
		for k := range pairs {
			n := len(places)
			a, b := (k*7919)%n, (k*104729+k/n+1)%n
			jobs <- job{s, []Choice{places[a], places[b]}}
		}
	}
	close(jobs)
	all.Wait()
	m.conclude()
	return m
}

// places lists every fault that can be put anywhere on the scene's plain course.
func (s *Scene) places() []Choice {
	r := Run(s.Scenario, Plain{}, Options{Points: true})
	var all []Choice
	for _, p := range r.Points {
		if s.Base(p.Point) > 0 {
			continue // what the scene is about
		}
		for v, name := range actNames(p.Site) {
			all = append(all, Choice{At: p.Site, Of: p.Subject, Nth: p.Nth, Value: v + 1, What: name})
		}
	}
	return all
}

func (m *Matrix) add(scene string, choices []Choice, r *Result) {
	m.Runs++
	for c, n := range r.Cells {
		m.Cells[c] += n
	}
	for f, n := range r.Hits {
		m.Hits[f] += n
	}
	if r.Violation != nil {
		m.Broken = append(m.Broken, Broken{scene, choices, r.Violation})
	}
}

// conclude compares what was hit with what can exist.
func (m *Matrix) conclude() {
	for r := range sites {
		for c := range sites[r] {
			for _, a := range actsAt[c] {
				cell := Cell{sites[r][c], a.String()}
				switch why := absent(role(r), call(c), a); { //nolint:gosec // small
				case why != "":
					m.Absent = append(m.Absent, Absent{cell, why})
				case m.Cells[cell] == 0:
					m.Missing = append(m.Missing, cell)
				}
			}
		}
	}
}

// Count is how many cells can exist.
func (m *Matrix) Count() int {
	n := 0
	for r := range sites {
		for c := range sites[r] {
			n += len(actsAt[c])
		}
	}
	return n - len(m.Absent)
}

// calls lists whose calls there are at all.
var calls = [roleCount][]call{
	aScheduler:  {callLoad, callLoadOrder, callCommit, callDue, callSend, callDelete, callExtend, callAlert, callMessage, callPoll, callClock, callDeploy},
	aSupervisor: {callLoad, callCommit, callDue, callLease, callSend, callDepth, callAlert, callMessage, callTick, callClock},
	anAgent:     {callSend, callDelete, callExtend, callEntry, callMove, callDo, callUndo, callMessage, callPoll, callClock},
	aClient:     {callDelete, callMessage, callPoll, callForge, callExpire},
}

// absent says why a cell cannot exist; "" where it can.
func absent(r role, c call, a act) string {
	_, isCompute := find(compute, a)
	switch {
	case !slices.Contains(calls[r], c) && r == aSupervisor && c == callLoadOrder:
		return "the Supervisor claims nothing (P16), so that it never evaluates an expression and needs no order"
	case !slices.Contains(calls[r], c):
		return "the " + roleNames[r] + " makes no such call"
	case r == aClient && isCompute:
		return "the application is its owner's, and no part of the protocol"
	case c == callUndo && a.fault == Contradictory:
		return ""
	case a.fault == ItemTooLarge && c == callSend && r != aScheduler:
		return "what the " + roleNames[r] + " sends is small, or was cut before"
	case a.fault == PartialBatch && r == anAgent:
		return "an agent sends one reply at a time"
	case a.fault == TokenExpired && r == aSupervisor:
		return "" // a replacement can be repeated too
	}
	return ""
}

func find(list []act, a act) (int, bool) {
	i := slices.Index(list, a)
	return i, i >= 0
}
