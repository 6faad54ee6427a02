package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/functions/internal/world"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// story is one course of an order, and where it has to end whatever is cut on the way.
type story struct {
	name   string
	def    func(*core.Definition)
	script func() func(*message.Request) *message.Reply
	state  core.State
	kind   core.StatusKind
	alerts bool
}

var stories = []story{
	{name: "done", state: core.Processed, kind: core.StatusCompleted},
	{name: "c fails", state: core.Compensated, kind: core.StatusUndone, script: always(func(r *message.Request) *message.Reply {
		if r.Step == "c" && r.Operation == core.Do {
			return world.Failed(r, "refused")
		}
		return world.Done(r)
	})},
	{name: "a fails beside b, undo of b only works the second time", state: core.Compensated, kind: core.StatusUndone,
		script: always(func(r *message.Request) *message.Reply {
			switch {
			case r.Step == "a" && r.Operation == core.Do:
				return world.Failed(r, "refused")
			case r.Step == "b" && r.Operation == core.UndoOp && r.Attempt == 2:
				return world.Failed(r, "not now")
			}
			return world.Done(r)
		})},
	{name: "b later, c silent", state: core.Processed, kind: core.StatusCompleted,
		// A process that dies with the reply in hand costs one failure more: its step is overdue by the time that it comes again.
		def: func(d *core.Definition) { d.Steps[2].Retry.MaxFailures++ }, script: always(func(r *message.Request) *message.Reply {
			switch {
			case r.Step == "b" && r.Attempt == 1:
				return world.Later(r)
			case r.Step == "c" && r.Attempt < 3:
				return nil
			}
			return world.Done(r)
		})},
	{name: "stop", state: core.Error, kind: core.StatusFailed, alerts: true,
		def: func(d *core.Definition) { d.Steps[2].OnFailure = core.OnFailureStop },
		script: always(func(r *message.Request) *message.Reply {
			if r.Step == "c" {
				return world.Failed(r, "refused")
			}
			return world.Done(r)
		})},
	{name: "stop after silence", state: core.Error, kind: core.StatusFailed, alerts: true,
		def: func(d *core.Definition) { d.Steps[0].OnFailure = core.OnFailureStop },
		script: always(func(r *message.Request) *message.Reply {
			if r.Step == "a" {
				return nil
			}
			return world.Done(r)
		})},
}

func always(f func(*message.Request) *message.Reply) func() func(*message.Request) *message.Reply {
	return func() func(*message.Request) *message.Reply { return f }
}

// tell runs the story with the cut; it answers how many I/Os there were.
func (s story) tell(t *testing.T, cached int, cut world.Power) (*world.World, int) {
	t.Helper()
	def := world.Definition()
	if s.def != nil {
		s.def(def)
	}
	w := world.New(t, def)
	*w.Power = cut
	w.CacheFor = cached
	if s.script != nil {
		w.Script = s.script()
	}
	w.Boot()
	w.Send("intake", world.Order("o-1"))
	for range 400 {
		w.Round()
		if task := w.Task("o-1"); task != nil && task.ProcessState == s.state && task.AtRest() {
			break
		}
	}
	calls := w.Power.Calls
	w.Power.At, w.Power.Also = 0, 0
	for range 40 { // whatever comes late changes nothing
		w.Round()
	}
	return w, calls
}

// check holds the story's end to what must be true of it.
func (s story) check(t *testing.T, w *world.World) {
	t.Helper()
	task := w.Task("o-1")
	if task == nil {
		t.Fatal("the order was lost")
	}
	if task.ProcessState != s.state || !task.AtRest() {
		t.Fatalf("it is %s, at rest %v, tell %s, due %s: %+v", task.ProcessState, task.AtRest(), task.Tell, task.Due, task.Steps)
	}
	for _, step := range task.Steps {
		e := w.Ledger[core.Key("o-1", 0, step.Name)]
		applied := e != nil && e.Applied
		if s.state == core.Processed && !applied || s.state == core.Compensated && applied {
			t.Errorf("step %s is applied: %v", step.Name, applied)
		}
	}
	if task.EndSeq == 0 || !strings.Contains(w.Told("o-1"), fmt.Sprintf(`"status":%q`, s.kind)) {
		t.Errorf("its end was told as status %d: %s", task.EndSeq, w.Told("o-1"))
	}
	if s.alerts != (len(w.Alerts) > 0) {
		t.Errorf("%d alerts", len(w.Alerts))
	}
}

// Every story, with the I/O of every place cut in every way, ends the same.
func TestEveryCutIsHealed(t *testing.T) {
	for _, s := range stories {
		for _, cached := range []int{0, 100} {
			t.Run(fmt.Sprintf("%s/cache %d", s.name, cached), func(t *testing.T) {
				w, calls := s.tell(t, cached, world.Power{})
				s.check(t, w)
				for at := 1; at <= calls; at++ {
					for mode := range 4 {
						cut := world.Power{At: at, After: mode&1 != 0, Kill: mode&2 != 0}
						w, _ := s.tell(t, cached, cut)
						s.check(t, w)
						if t.Failed() {
							t.Fatalf("cut: %+v of %d", cut, calls)
						}
					}
				}
				t.Logf("%d places", calls)
			})
		}
	}
}

// Two cuts, the second one while the first is being healed.
func TestTwoCutsAreHealed(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, s := range []story{stories[0], stories[1], stories[4]} {
		_, calls := s.tell(t, 100, world.Power{})
		for at := 1; at <= calls; at += 3 {
			for also := at + 1; also <= at+40; also++ {
				for mode := range 4 {
					cut := world.Power{At: at, Also: also, After: mode&1 != 0, Kill: mode&2 != 0}
					w, _ := s.tell(t, 100, cut)
					s.check(t, w)
					if t.Failed() {
						t.Fatalf("%s: cut %+v of %d", s.name, cut, calls)
					}
				}
			}
		}
	}
}
