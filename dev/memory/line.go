package memory

import (
	"slices"
	"sort"
)

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

func (l *line) push(e *entry) {
	if e.message.High {
		l.high.push(e)
		return
	}
	l.normal.push(e)
}

// begin returns the messages of the two priorities. A receive takes from first, and then from second. The
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

// turns contains the messages of one priority, by group. The next message belongs to the group whose last turn
// was the earliest. A message that was deleted stays until its turn comes.
type turns struct {
	groups map[string]*group
	order  []*group // groups with messages, ordered by their last turn
	taken  uint64
}

type group struct {
	name    string
	waiting []*entry
	last    uint64 // number of the group's last turn; 0 means that the group has had no turn
}

func (s *turns) push(e *entry) {
	name := e.message.Group
	g := s.groups[name]
	if g == nil {
		if s.groups == nil {
			s.groups = map[string]*group{}
		}
		g = &group{name: name}
		s.groups[name] = g
	}
	g.waiting = append(g.waiting, e)
	if len(g.waiting) == 1 {
		place := sort.Search(len(s.order), func(i int) bool { return s.order[i].last > g.last })
		s.order = slices.Insert(s.order, place, g)
	}
}

// pop removes the next message. It returns nil if there is none.
func (s *turns) pop() *entry {
	if len(s.order) == 0 {
		return nil
	}
	g := s.order[0]
	s.order = s.order[1:]
	e := g.drop()
	s.taken++
	g.last = s.taken
	if s.keeps(g) {
		s.order = append(s.order, g)
	}
	return e
}

func (g *group) drop() *entry {
	e := g.waiting[0]
	g.waiting[0] = nil
	g.waiting = g.waiting[1:]
	return e
}

// keeps reports whether a group still has messages. If it has none, keeps may forget the group.
func (s *turns) keeps(g *group) bool {
	if len(g.waiting) == 0 && len(s.groups) > keptGroups {
		delete(s.groups, g.name)
	}
	return len(g.waiting) > 0
}

// trim removes the messages that are gone from the front of each group.
func (s *turns) trim(gone func(*entry) bool) {
	s.order = slices.DeleteFunc(s.order, func(g *group) bool {
		for len(g.waiting) > 0 && gone(g.waiting[0]) {
			g.drop()
		}
		return !s.keeps(g)
	})
}
