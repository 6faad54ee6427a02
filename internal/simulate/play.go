package simulate

import (
	"slices"
	"sort"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Run simulates the scenario. The chooser makes the choices of the run.
func Run(sc Scenario, c Chooser) Result { return played(sc, c, false).Result }

// Tell is like Run, and records the story of the run.
func Tell(sc Scenario, c Chooser) Result { return played(sc, c, true).Result }

// played simulates the scenario, and returns the simulation after its last event. The chooser makes the choices of the
// run. If tell is true, the run records its story.
func played(sc Scenario, c Chooser, tell bool) *Simulation {
	w := NewSimulation(sc, c)
	w.Tracing = tell
	SetUp(w)
	Play(w)
	w.Release()
	return w
}

// Play runs all events. The first phase has faults. The second phase has no faults and lasts until all orders
// have ended.
func Play(w *Simulation) {
	for w.Violation == nil {
		if len(w.Agenda) == 0 {
			if !w.Quiescing {
				quiesce(w)
				continue
			}
			if restless(w) {
				w.Violate("5", "nothing happens any more, and there are orders without an end: %s", unended(w))
			}
			break
		}
		w.Events++
		if w.Events > MaxSteps || w.Now > MaxTime+w.Waits {
			w.Violate("5", "after %d events and %s without faults there are orders without an end: %s",
				w.Events, time.Duration(w.Now)*time.Millisecond, unended(w))
			break
		}
		Next(w)
	}
	Stop(w)
	if w.Violation == nil {
		audit(w)
	}
}

// Next runs the next event.
func Next(w *Simulation) {
	e := w.Agenda.Pop()
	w.Now = max(w.Now, e.At)
	if !w.Quiescing && w.Now > w.Until && !outlasts(w) {
		quiesce(w)
	}
	e.Do()
	bury(w)
	check(w)
}

// Stop ends all handlers.
func Stop(w *Simulation) {
	for _, p := range w.Procs {
		for _, iv := range p.Running {
			iv.Dead = true
			w.Corpses = append(w.Corpses, iv)
		}
		p.Running = nil // a later kill must not end these handlers again
	}
	bury(w)
}

func quiesce(w *Simulation) {
	w.Quiescing = true
	w.Trace("world", "", "the faults are over")
	if !w.Operating {
		operate(w)
	}
}

// longest returns the longest time in milliseconds that an order may spend in waiting steps, over all
// definitions.
func longest(all []*core.Definition) (most int64) {
	for _, def := range all {
		sum := int64(0)
		for i := range def.Steps {
			switch d := &def.Steps[i]; {
			case d.Answer != nil:
				sum += int64(d.Timeout)
			case d.Wait == nil:
			case d.Input != nil:
				sum += int64(366*core.Day + d.Wait.Spread)
			default:
				sum += int64(d.Wait.For + d.Wait.Spread)
			}
		}
		most = max(most, sum)
	}
	return most
}

// outlasts reports whether the phase with faults continues because an order waits. This happens only if
// w.Through is true. The phase then ends ten minutes after the wait.
func outlasts(w *Simulation) bool {
	if !w.Through {
		return false
	}
	for _, o := range w.AllOrders {
		t := w.Store.Task(o.Id)
		if t == nil || t.ProcessState != core.Processing {
			continue
		}
		for i := range t.Steps {
			if s := &t.Steps[i]; s.State == core.Waiting && s.Children == nil {
				w.Until = max(w.Until, int64(s.Wait.At)-w.Start+10*60_000)
			}
		}
	}
	return w.Now <= w.Until
}

// Event is something that happens at a given time. Events with the same time happen in the order in which
// they were added.
type Event struct {
	At int64 // time in milliseconds since the start of the simulation
	Do func()
}

// Agenda holds the future events, sorted from the latest to the earliest.
type Agenda []Event

// Push adds an event.
func (a *Agenda) Push(e Event) {
	*a = slices.Insert(*a, sort.Search(len(*a), func(i int) bool { return (*a)[i].At <= e.At }), e)
}

// Pop removes and returns the earliest event.
func (a *Agenda) Pop() Event {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = Event{}
	*a = (*a)[:last]
	return e
}

// None reports whether no event happens at or before the given time.
func (a Agenda) None(until int64) bool { return len(a) == 0 || a[len(a)-1].At > until }
