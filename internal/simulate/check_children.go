package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// children checks a parent's child orders at each commit (P40, a step can have child orders).
func (m *move) children() {
	for i := range m.after.Steps {
		s := &m.after.Steps[i]
		d := &m.def.Steps[i]
		if d.Each == nil || s.Children == nil {
			continue
		}
		c := s.Children
		m.iterations(s, d)
		m.carries(s)
		open := map[int]bool{}
		for _, o := range c.Open {
			m.never(open[o.Index] || o.Index >= c.Count,
				"P40", "step %s has child %d open twice, or beyond its %d", s.Name, o.Index, c.Count)
			open[o.Index] = true
			m.inDoubt(s, o)
		}
		m.never(len(c.Open) > d.Each.Concurrency,
			"P40", "step %s has %d children open, %d may be", s.Name, len(c.Open), d.Each.Concurrency)
	}
}

// inDoubt checks that a child which is no longer stored has ever been stored (P41). Nothing of another one can be in
// doubt, so it must not stop the order.
func (m *move) inDoubt(s *protocol.Step, o protocol.OpenChild) {
	if o.State != string(core.ChildExpired) {
		return
	}
	id := core.Parent{OrderID: m.after.OrderID, Run: m.after.Run, Step: s.Name, Index: o.Index}.ChildID()
	m.never(!m.w.Store.Known(id), "P41", "step %s is in doubt about its child %s, which never existed", s.Name, id)
}

// carries notes with how many answers of the parent a child begins (invariant 26).
func (m *move) carries(s *protocol.Step) {
	if s.Passing == nil || s.Claim.Undo {
		return
	}
	var before *protocol.Children
	if m.before != nil {
		before = m.was(s.Name).Children
	}
	for _, o := range s.Children.Open {
		id := core.Parent{OrderID: m.after.OrderID, Run: m.after.Run, Step: s.Name, Index: o.Index}.ChildID()
		if _, known := m.o.Seen.Carried[id]; !known && !o.Ended && before.At(o.Index) < 0 {
			m.o.Seen.Carried[id] = len(s.Passing.Answers)
		}
	}
}

// iterations checks a step that is repeated (invariants 24 and 25).
func (m *move) iterations(s *protocol.Step, d *core.StepDefinition) {
	r := d.Each.Repeat
	if r == nil || s.Claim.Undo {
		return
	}
	c := s.Children
	m.never(c.Started > r.AtMost, "25", "step %s has begun iteration %d of %d", s.Name, c.Started-1, r.AtMost)
	for _, o := range c.Open {
		if o.Ended || o.Index == 0 {
			continue
		}
		id := core.Parent{OrderID: m.after.OrderID, Run: m.after.Run, Step: s.Name, Index: o.Index - 1}.ChildID()
		before := m.w.Store.Task(id)
		m.never(before == nil || !before.Terminal(),
			"24", "step %s has begun iteration %d, and %s has not ended", s.Name, o.Index, id)
	}
}

// checkChildren compares the child orders of an ended task with the task (P41, parent and child talk by
// messages).
func checkChildren(w *Simulation, t *protocol.Task) {
	if len(w.Below) == 0 {
		return
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Children == nil {
			continue
		}
		stands := t.ProcessState == core.Processed && s.State == core.Processed
		failed := 0
		for n := range s.Children.Count {
			id := core.Parent{
				OrderID: t.OrderID, Run: t.Run, Step: s.Name, Index: n,
				Attempt: s.Attempt,
			}.ChildID()
			child := w.Store.Task(id)
			switch {
			case stands && child != nil && !child.Terminal():
				w.Violate("P41", "order %s is Processed, and its child %s is %s", t.OrderID, id,
					child.ProcessState)
			case child == nil || child.ProcessState != core.Processed:
				failed++
			}
		}
		if enough := s.Children.Enough; stands && enough > 0 {
			well := s.Children.Count - failed
			w.never(well != enough, "22", "order %s is Processed, %d children of step %s stand, and %d have decided it",
				t.OrderID, well, s.Name, enough)
		} else {
			w.never(stands && failed != s.Children.Failed, "P41",
				"order %s is Processed, and %d children of step %s have failed, not %d", t.OrderID, failed, s.Name,
				s.Children.Failed)
		}
		for _, svc := range w.Services { // one violation is enough, so any sequence is right
			order, below := strings.CutPrefix(svc.Order, t.OrderID+"~"+s.Name+"~")
			if !stands && svc.Net != 0 && below && !closed(w, t.OrderID+"~"+s.Name+"~", order) {
				w.Violate("P41", "order %s is %s, step %s is %s, and an effect of its child stands: %s",
					t.OrderID, t.ProcessState, s.Name, s.State, svc.Key)
			}
		}
	}
}

// closed reports whether the child of a step was closed by hand, so that the operator undoes what it and its children
// have done (P48, close ends an order as it stands). The order is the child, or one below it, without the prefix of
// the step.
func closed(w *Simulation, prefix, order string) bool {
	index, _, _ := strings.Cut(order, core.ChildMark)
	child := w.Store.Task(prefix + index)
	return child != nil && child.ProcessState == core.Closed
}

// anys checks that no more members of a step have ended well than decide it (invariant 23).
func (m *move) anys() {
	if m.after.ProcessState != core.Processing {
		return
	}
	for i := range m.def.Steps {
		d := &m.def.Steps[i]
		if d.Any == nil {
			continue
		}
		well := 0
		for _, n := range m.def.Members(i) {
			s := &m.after.Steps[n]
			ended := s.State == core.Processed || s.State == core.Settling
			if ended && s.Withdrawn == 0 {
				well++
			}
		}
		m.never(well > d.Any.Enough,
			"23", "%d members of step %s have ended well, and %d decide", well, d.Name, d.Any.Enough)
	}
}

// doing checks the effect of a do (invariant 23): the services' books must show that as many members as decide an any
// before it may have ended well. Members that call no service leave nothing in the books, and may all have.
func doing(w *Simulation, s *Remote) {
	t := w.Store.Task(s.Order)
	o := w.ByID[s.Order]
	if t == nil || o == nil || t.Run != s.Run || o.Seen.Moved {
		return
	}
	def := w.DefOf(t)
	step := def.Index(s.Step)
	if step < 0 {
		return
	}
	for _, i := range def.Ancestors(step) {
		d := &def.Steps[i]
		goesOn := d.OnFailure == core.OnFailureContinue || d.HasDeadline() && d.OnDeadline == core.OnFailureContinue
		if d.Any == nil || d.When != "" || goesOn {
			continue
		}
		well := 0
		for _, n := range def.Members(i) {
			svc := w.Services[core.Key(s.Order, s.Run, def.Steps[n].Name)]
			if def.Steps[n].Agent == "" || svc != nil && svc.Applied > 0 {
				well++
			}
		}
		w.never(well < d.Any.Enough, "23",
			"%s takes effect, and %d members of step %s can have ended well, of which %d decide", s.Key, well, d.Name,
			d.Any.Enough)
	}
}

// checkAnys compares the effects of members with those that have decided (invariant 22). Of a Processed order, only
// these stand.
func checkAnys(w *Simulation, t *protocol.Task) {
	def := w.DefOf(t)
	for i := range def.Steps {
		d := &def.Steps[i]
		if d.Any == nil || t.ProcessState != core.Processed {
			continue
		}
		s := &t.Steps[i]
		w.never(s.State == core.Processed && len(s.Won) != d.Any.Enough, "22",
			"order %s is Processed, and %v have decided step %s, which needs %d", t.OrderID, s.Won, d.Name, d.Any.Enough)
		for n, member := range def.Members(i) {
			name := t.Steps[member].Name
			won := slices.Contains(s.Won, d.Any.Members[n])
			svc := w.Services[core.Key(t.OrderID, t.Run, name)]
			if svc == nil || noEffect(w, t, name) {
				continue
			}
			stands := svc.Net > 0
			w.never(stands != won, "22",
				"order %s is Processed, decided by %v of step %s, and the effect of %s stands: %v", t.OrderID, s.Won,
				d.Name, name, stands)
		}
	}
}

// passed checks the decision of a child by an answer that its parent has passed on (invariant 26). One child takes it,
// and a child that began with an answer does not wait in vain.
func (m *move) passed(s *protocol.Step) {
	d, decided := decidedOf(s)
	if m.before != nil {
		if _, before := decidedOf(m.was(s.Name)); before {
			return
		}
	}
	if m.after.Parent == nil || !decided {
		return
	}
	parent := m.w.ByID[m.after.Parent.OrderID]
	if parent == nil {
		return
	}
	m.w.Checks["26"]++
	taker := fmt.Sprintf("%s, run %d", m.after.OrderID, m.after.Run)
	switch other := parent.Seen.Passed[string(d.Value)]; {
	case d.By == Passer && other != "" && other != taker:
		m.fail("26", "it takes the answer %s, which %s has taken", d.Value, other)
	case d.By == Passer:
		parent.Seen.Passed[string(d.Value)] = taker
	case d.By == protocol.ByTimeout && m.after.Run == 0 && m.w.Room.Limit == 0 &&
		parent.Seen.Carried[m.after.OrderID] > s.Answers.Refused:
		m.fail("26", "step %s has waited in vain, and the order began with %d answers", s.Name,
			parent.Seen.Carried[m.after.OrderID])
	}
}
