package explore

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
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
	all, found := explore([]Scope{s}, faults, time.Hour)
	require.GreaterOrEqual(t, all[0].Whole, faults)
	require.Empty(t, found)
	return met, all[0].States
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
				lost++
				require.GreaterOrEqual(t, lost, 4, x.name)
			}
		}
		for what := range reduced {
			if !all[what] {
				new++
			}
		}
		require.LessOrEqual(t, new, 0, x.name)
		t.Logf("%s, with %d faults: %d outcomes, in %d states instead of %d", x.name, x.faults, len(all), few,
			many)
	}
}

func scopeNamed(t *testing.T, name string) Scope {
	t.Helper()
	all := smallScopes()
	i := slices.IndexFunc(all, func(s Scope) bool { return s.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
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
		explore([]Scope{s}, 1, time.Hour)
		if met == 0 {
			t.Errorf("%s: no handler met a %s", name, what)
		}
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
		require.Equal(t, x.fields, leafFields(x.of), "%+v", x.of)
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
