package world

import (
	"slices"
	"sort"
)

// Event happens at a time. Events of the same time happen in the order of their creation.
type Event struct {
	At int64       // milliseconds of the simulation
	Iv *Invocation // handler that continues
	Do func()      // function to call instead
}

// Agenda holds the future events, latest first.
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

// None reports whether nothing happens at or before the time.
func (a Agenda) None(until int64) bool { return len(a) == 0 || a[len(a)-1].At > until }
