package world

import (
	"slices"
	"sort"
)

// Event is something that happens at a given time. Events with the same time happen in the order in which
// they were added.
type Event struct {
	At int64       // time in milliseconds since the start of the simulation
	Iv *Invocation // handler to resume; nil if Do is set
	Do func()      // function to call if Iv is nil
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
