package check

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

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
		m.did("23")
		well := 0
		for _, n := range m.def.Members(i) {
			s := &m.after.Steps[n]
			ended := s.State == core.Processed || s.State == core.Settling
			if ended && s.Withdrawn == 0 {
				well++
			}
		}
		if well > d.Any.Enough {
			m.fail("23", "%d members of step %s have ended well, and %d decide", well, d.Name, d.Any.Enough)
		}
	}
}

// Doing checks the effect of a do (invariant 23): the services' books must show that as many members as decide an any
// before it may have ended well. Members that call no service leave nothing in the books, and may all have.
func Doing(w *world.Simulation, s *world.Remote) {
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
		w.Checks.Did("23")
		well := 0
		for _, n := range def.Members(i) {
			svc := w.Services[core.Key(s.Order, s.Run, def.Steps[n].Name)]
			if def.Steps[n].Agent == "" || svc != nil && svc.Applied > 0 {
				well++
			}
		}
		if well < d.Any.Enough {
			w.Violate("23", "%s takes effect, and %d members of step %s can have ended well, of which %d decide", s.Key, well,
				d.Name, d.Any.Enough)
		}
	}
}

// checkAnys compares the effects of members with those that have decided (invariant 22). Of a Processed order, only
// these stand.
func checkAnys(w *world.Simulation, t *protocol.Task) {
	def := w.DefOf(t)
	for i := range def.Steps {
		d := &def.Steps[i]
		if d.Any == nil || t.ProcessState != core.Processed {
			continue
		}
		w.Checks.Did("22")
		s := &t.Steps[i]
		if s.State == core.Processed && len(s.Won) != d.Any.Enough {
			w.Violate("22", "order %s is Processed, and %v have decided step %s, which needs %d", t.OrderID, s.Won, d.Name,
				d.Any.Enough)
		}
		for n, member := range def.Members(i) {
			name := t.Steps[member].Name
			won := slices.Contains(s.Won, d.Any.Members[n])
			svc := w.Services[core.Key(t.OrderID, t.Run, name)]
			if svc == nil || NoEffect(w, t, name) {
				continue
			}
			if stands := svc.Net > 0; stands != won {
				w.Violate("22", "order %s is Processed, decided by %v of step %s, and the effect of %s stands: %v", t.OrderID,
					s.Won, d.Name, name, stands)
			}
		}
	}
}
