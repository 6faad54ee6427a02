package explore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// outcomes are what an exploration has met: the documents that were stored, without their times, what the
// services held then, and the ends.
func outcomes(t *testing.T, s Scope, faults int) (met map[string]bool, states int) {
	t.Helper()
	met = map[string]bool{}
	s.Watching = func(w *world.Simulation) {
		text := ""
		for _, id := range w.Store.Ids {
			text += id + " " + stored(w.Store.Rows[id].Task) + "; "
		}
		for _, key := range slices.Sorted(maps.Keys(w.Services)) {
			if w.Services[key].Applied == 0 && !w.Services[key].Undone {
				continue // an agent is about to call
			}
			text += fmt.Sprintf("%s %d/%d; ", key, w.Services[key].Applied, w.Services[key].Net)
		}
		met[text+fmt.Sprint(atEnd(driverOf(w)))] = true
	}
	e := explore([]Scope{s}, faults, 1, 1<<40, nil)
	if !e.Whole || len(e.Found) > 0 {
		t.Fatalf("%s: whole %v, found %v", s.Name, e.Whole, e.Found)
	}
	return met, e.States
}

func stored(t *protocol.Task) string {
	if t == nil {
		return "none"
	}
	text := fmt.Sprintf("%s %s %s run %d command %d reported %v", t.ProcessState, t.Phase, t.Undo.Why, t.Run,
		t.Commands.Number, t.End.ResendAt == 0)
	for i := range t.Steps {
		s := &t.Steps[i]
		text += fmt.Sprintf(", %s %s %d/%d failures %d/%d", s.Name, s.State, s.Attempt, s.First.Nth,
			s.Failures.Do, s.Failures.Undo)
	}
	return text
}

// TestNothingIsLost checks that interleaving every call with every other stores the same documents, with the
// same effects at each of them, and reaches the same ends as handlers taken as blocks of calls.
func TestNothingIsLost(t *testing.T) {
	for _, x := range []struct {
		name   string
		faults int
	}{
		{"fenced: at once", 0},
		{"plain: in a row", 0},
		{"the second is skipped", 0},
		{"fenced: stopped, resolved, resubmitted", 0},
		{"idempotent: in a row, cancelled", 0},
	} {
		s := scopeNamed(t, x.name)
		reduced, few := outcomes(t, s, x.faults)
		s.Entangled = true
		all, many := outcomes(t, s, x.faults)
		lost := 0
		new := 0
		for what := range all {
			if !reduced[what] {
				if lost++; lost < 4 {
					t.Errorf("%s, with %d faults, never came to: %s", x.name, x.faults, what)
				}
			}
		}
		for what := range reduced {
			if !all[what] {
				new++
			}
		}
		if new > 0 {
			t.Errorf("%s, with %d faults: %d outcomes that cannot be", x.name, x.faults, new)
		}
		t.Logf("%s, with %d faults: %d outcomes, in %d states instead of %d", x.name, x.faults, len(all), few,
			many)
	}
}

func scopeNamed(t *testing.T, name string) Scope {
	t.Helper()
	all := smallScopes()
	i := slices.IndexFunc(all, func(s Scope) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no small world %q", name)
	}
	return all[i]
}

// TestEntangledHandlersConflict checks that blocks of calls do not hide conflicts. Two Schedulers still meet
// at one document, and a copy of a request still meets the first one at its ledger.
func TestEntangledHandlersConflict(t *testing.T) {
	for name, what := range map[string]string{"fenced: at once": "conflict", "plain: in a row": "conflict"} {
		s := scopeNamed(t, name)
		met := 0
		s.Watching = func(w *world.Simulation) {
			for _, p := range w.Procs {
				for _, iv := range p.Running {
					if iv.Trouble && on(iv).Turn != nil {
						met++
					}
				}
			}
		}
		explore([]Scope{s}, 1, 1, 1<<40, nil)
		if met == 0 {
			t.Errorf("%s: no handler met a %s", name, what)
		}
	}
}

// TestSnapshot checks that a world goes on from a copy as from itself, and that neither changes the other.
func TestSnapshot(t *testing.T) {
	compared := 0
	for _, s := range smallScopes() {
		s.Prepare()
		rng := rand.New(rand.NewPCG(11, uint64(len(s.Name)))) //nolint:gosec // not for secrets
		for range 3 {
			d := newDriver(deployment.NewSimulation(s.Scenario, world.Plain{}), &s)
			for range 40 {
				acts := slices.Clone(enabled(d))
				if len(acts) == 0 {
					break
				}
				a := acts[rng.IntN(len(acts))]
				do(d, a)
				if _, any := standing(d.W); any || d.W.Violation != nil {
					continue
				}
				compared++
				before := stateHash(d)
				c := snapshot(d.W)
				if shared := sharedParts(reflect.ValueOf(d.W), reflect.ValueOf(c), "simulation",
					map[[2]uintptr]bool{}); shared != "" {
					t.Fatalf("%s: a snapshot shares %s with its world", s.Name, shared)
				}
				one := onwards(driverOf(snapshot(c)), 5)
				other := onwards(driverOf(snapshot(c)), 5)
				if stateHash(driverOf(c)) != before || stateHash(d) != before || !slices.Equal(one, other) {
					t.Fatalf("%s: a copy is not what it is a copy of", s.Name)
				}
			}
			end(d)
		}
	}
	if compared < 300 {
		t.Errorf("only %d snapshots", compared)
	}
}

// onwards takes always the first action.
func onwards(d *Driver, n int) (states []uint64) {
	defer end(d)
	for range n {
		acts := enabled(d)
		if len(acts) == 0 {
			break
		}
		do(d, acts[0])
		states = append(states, stateHash(d))
	}
	return states
}

// unchanging are the parts that are never changed in place.
var unchanging = []reflect.Type{
	reflect.TypeFor[*core.Definition](), reflect.TypeFor[[]*core.Definition](), reflect.TypeFor[*protocol.Task](),
	reflect.TypeFor[*Scope](), reflect.TypeFor[world.Chooser](), reflect.TypeFor[world.Scenario](),
	reflect.TypeFor[map[string]world.Trait](), reflect.TypeFor[map[string]core.Duration](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[*[world.CallCount]float64](),
}

// sharedParts finds a map, a slice or a pointer that both hold; "" if there is none.
func sharedParts(a, b reflect.Value, path string, seen map[[2]uintptr]bool) string {
	if !a.IsValid() || !b.IsValid() || slices.Contains(unchanging, a.Type()) {
		return ""
	}
	if name := a.Type().String(); strings.Contains(name, "port.") || strings.Contains(name, "message.") {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() || b.IsNil() {
			return ""
		}
		if a.Kind() != reflect.Pointer &&
			(a.Len() == 0 || a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.String) {
			return ""
		}
		if a.Pointer() == b.Pointer() {
			return path
		}
		key := [2]uintptr{a.Pointer(), b.Pointer()}
		if seen[key] {
			return ""
		}
		seen[key] = true
	default:
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return sharedParts(a.Elem(), b.Elem(), path, seen)
	case reflect.Struct:
		for i := range a.NumField() {
			if s := sharedParts(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name, seen); s != "" {
				return s
			}
		}
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if s := sharedParts(a.Index(i), b.Index(i), path+"[]", seen); s != "" {
				return s
			}
		}
	case reflect.Map:
		for _, k := range a.MapKeys() {
			if s := sharedParts(a.MapIndex(k), b.MapIndex(k), path+"{}", seen); s != "" {
				return s
			}
		}
	default:
	}
	return ""
}

// TestStandingHandlerGoesOn checks that a state in which a handler stands still is restored from a snapshot
// as by going the whole way, and goes on in the same way.
func TestStandingHandlerGoesOn(t *testing.T) {
	compared := 0
	for _, name := range []string{
		"fenced: in a row, cancelled", "plain: at once",
		"idempotent: stopped, undone, resubmitted",
	} {
		s := scopeNamed(t, name)
		x := newExploring(&s, 1)
		rng := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // not for secrets
		for range 150 {
			at := &place{}
			d := newDriver(deployment.NewSimulation(s.Scenario, world.Plain{}), &s)
			for n := range 45 {
				acts := slices.DeleteFunc(slices.Clone(enabled(d)),
					func(a Action) bool { return a.Costs() && (a.Kind != Freezes || n > 40) })
				if frozen := slices.IndexFunc(acts,
					func(a Action) bool {
						return a.Kind == Freezes
					}); frozen >= 0 && rng.IntN(12) == 0 {
					acts = acts[frozen : frozen+1]
				} else {
					acts = slices.DeleteFunc(acts, Action.Costs)
				}
				if len(acts) == 0 {
					break
				}
				a := acts[rng.IntN(len(acts))]
				do(d, a)
				at = &place{before: at, by: a, state: stateHash(d)}
				x.keep(at, d)
				if at.world.Load() == nil || at.frozen == nil {
					continue
				}
				compared++
				again := x.reach(at)
				if stateHash(again) != at.state || !slices.Equal(enabled(again), enabled(d)) {
					t.Fatalf("%s: after %v it is another state", name, at.path())
				}
				end(again)
			}
			end(d)
		}
	}
	if compared < 200 {
		t.Errorf("only %d places", compared)
	}
}

// TestEveryFieldIsHashedOrArgued checks that a new field of a task, a step or a message is hashed, or is left
// out for a written reason.
func TestEveryFieldIsHashedOrArgued(t *testing.T) {
	for _, x := range []struct {
		of     reflect.Type
		fields int
	}{
		// Of a task, Damaged is no part of what is stored: reading sets it, and no simulated document is damaged.
		{reflect.TypeFor[protocol.Task](), 52},
		{reflect.TypeFor[protocol.Step](), 44},
		{reflect.TypeFor[message.Reply](), 16},
		{reflect.TypeFor[core.SendRequest](), 19},
		{reflect.TypeFor[message.Control](), 4},
		{reflect.TypeFor[world.Remote](), 14},
	} {
		if n := leafFields(x.of); n != x.fields {
			t.Errorf(
				"%s has %d fields and had %d: see whether state.go has to hash the new one, and what to "+
					"leave out", x.of, n, x.fields)
		}
	}
}

// leafFields returns the number of fields of a struct, with those of its inner structs instead of them.
func leafFields(of reflect.Type) int {
	n := 0
	for field := range of.Fields() {
		if field.Type.Kind() == reflect.Struct {
			n += leafFields(field.Type)
		} else {
			n++
		}
	}
	return n
}
