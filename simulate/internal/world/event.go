package world

import (
	"slices"
	"sort"
)

// Event is something that happens at a time. Those of one time happen in the order of their making.
type Event struct {
	At int64       // milliseconds of the simulation
	Iv *Invocation // goes on
	Do func()      // or this happens
}

// Agenda holds the events to come, latest first.
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

// None reports that nothing happens at or before the time.
func (a Agenda) None(until int64) bool { return len(a) == 0 || a[len(a)-1].At > until }
