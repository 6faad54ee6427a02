package memory

import "github.com/stepkeeper/stepkeeper/shared/port"

// normalFirst is the interval, in receives, at which messages without priority come first, so that they are
// never starved (P46, priority changes the order of requests only).
const normalFirst = 10

// keptGroups is the number of empty groups that keep their memory.
const keptGroups = 64

// line holds the tickets of visible messages. Those of high priority come first, except in every tenth
// receive. Within a priority the groups take turns, and each group is first in, first out. So a flood in one
// group hardly delays the others (P46).
type line struct {
	high, normal turns
	takes        int
}

func (l *line) push(m *port.Message, t ticket) {
	if m.High {
		l.high.push(m.Group, t)
		return
	}
	l.normal.push(m.Group, t)
}

// begin returns which priority comes first in one receive. some means that the receive will find messages.
func (l *line) begin(some bool) (first, second *turns) {
	if some {
		l.takes++
	}
	if some && l.takes%normalFirst == 0 {
		return &l.normal, &l.high
	}
	return &l.high, &l.normal
}

// turns holds the tickets of one priority, by group. The next ticket belongs to the group that has waited
// longest.
type turns struct {
	groups map[string]*group
	order  ring[*group] // groups that have tickets, ordered by their last turn
	taken  uint64
}

type group struct {
	name    string
	waiting ring[ticket]
	last    uint64 // number of the group's last turn; 0 means no turn yet
}

func (s *turns) push(name string, t ticket) {
	g := s.groups[name]
	if g == nil {
		if s.groups == nil {
			s.groups = map[string]*group{}
		}
		g = &group{name: name}
		s.groups[name] = g
	}
	g.waiting.push(t)
	if g.waiting.count > 1 {
		return
	}
	s.order.push(g)
	for i := s.order.count - 1; i > 0 && s.order.at(i-1).last > g.last; i-- {
		s.order.swap(i - 1)
	}
}

// pop removes and returns the next ticket.
func (s *turns) pop() (t ticket, some bool) {
	if s.order.count == 0 {
		return ticket{}, false
	}
	g := s.order.at(0)
	s.order.drop()
	t = g.waiting.at(0)
	g.waiting.drop()
	s.taken++
	g.last = s.taken
	s.again(g)
	return t, true
}

// again lets a group wait for its next turn, if it has tickets left.
func (s *turns) again(g *group) {
	switch {
	case g.waiting.count > 0:
		s.order.push(g)
	case len(s.groups) > keptGroups:
		delete(s.groups, g.name)
	}
}

// trim removes deleted tickets from the front of each group, and keeps the order of turns.
func (s *turns) trim(gone func(ticket) bool) {
	for range s.order.count {
		g := s.order.at(0)
		s.order.drop()
		for g.waiting.count > 0 && gone(g.waiting.at(0)) {
			g.waiting.drop()
		}
		s.again(g)
	}
}

// ring is a queue, first in, first out.
type ring[T any] struct {
	slots []T
	first int
	count int
}

func (r *ring[T]) push(x T) {
	if r.count == len(r.slots) {
		grown := make([]T, max(16, 2*len(r.slots)))
		n := copy(grown, r.slots[r.first:])
		copy(grown[n:], r.slots[:r.first])
		r.slots, r.first = grown, 0
	}
	r.slots[(r.first+r.count)&(len(r.slots)-1)] = x
	r.count++
}

// at returns the i-th element from the front.
func (r *ring[T]) at(i int) T { return r.slots[(r.first+i)&(len(r.slots)-1)] }

// swap exchanges the i-th and the one after it.
func (r *ring[T]) swap(i int) {
	a, b := (r.first+i)&(len(r.slots)-1), (r.first+i+1)&(len(r.slots)-1)
	r.slots[a], r.slots[b] = r.slots[b], r.slots[a]
}

func (r *ring[T]) drop() {
	var none T
	r.slots[r.first] = none
	r.first = (r.first + 1) & (len(r.slots) - 1)
	r.count--
}
