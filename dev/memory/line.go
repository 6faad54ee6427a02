package memory

import "github.com/stepkeeper/stepkeeper/shared/port"

// normalFirst makes every tenth receive begin with the messages of normal priority. Without this rule,
// messages of high priority could delay the other messages for ever (P46, priority changes the order of
// requests only).
const normalFirst = 10

// keptGroups limits the groups in memory. Above this number, a group without messages is deleted.
const keptGroups = 64

// line orders the visible messages. Messages of high priority come first, except in every tenth receive.
// Within a priority, the groups take turns. The messages of a group are received in the sequence in which
// they became visible. Therefore many messages in one group hardly delay the other groups (P46).
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

// begin returns the tickets of the two priorities. A receive takes from first, and then from second. The
// argument some states whether any message is visible.
func (l *line) begin(some bool) (first, second *turns) {
	if some {
		l.takes++
	}
	if some && l.takes%normalFirst == 0 {
		return &l.normal, &l.high
	}
	return &l.high, &l.normal
}

// turns contains the tickets of one priority, by group. A ticket refers to a message. The next ticket belongs
// to the group whose last turn was the earliest.
type turns struct {
	groups map[string]*group
	order  ring[*group] // groups with tickets, ordered by their last turn
	taken  uint64
}

type group struct {
	name    string
	waiting ring[ticket]
	last    uint64 // number of the group's last turn; 0 means that the group has had no turn
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

// again puts a group that still has tickets at the end of the order. It may delete a group without tickets.
func (s *turns) again(g *group) {
	switch {
	case g.waiting.count > 0:
		s.order.push(g)
	case len(s.groups) > keptGroups:
		delete(s.groups, g.name)
	}
}

// trim removes the tickets of deleted messages from the front of each group. It keeps the order of the
// groups.
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
		r.slots = grown
		r.first = 0
	}
	r.slots[(r.first+r.count)&(len(r.slots)-1)] = x
	r.count++
}

func (r *ring[T]) at(i int) T { return r.slots[(r.first+i)&(len(r.slots)-1)] }

// swap exchanges the elements at the indexes i and i+1.
func (r *ring[T]) swap(i int) {
	a := (r.first + i) & (len(r.slots) - 1)
	b := (r.first + i + 1) & (len(r.slots) - 1)
	r.slots[a], r.slots[b] = r.slots[b], r.slots[a]
}

func (r *ring[T]) drop() {
	var none T
	r.slots[r.first] = none
	r.first = (r.first + 1) & (len(r.slots) - 1)
	r.count--
}
