package simulate

import (
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
)

// childrenOf are the workflows of a workflow's children, and of theirs.
func childrenOf(d *core.Definition) (all []*core.Definition) {
	for i := range d.Steps {
		if e := d.Steps[i].Each; e != nil && e.Child != nil {
			all = append(append(all, e.Child), childrenOf(e.Child)...)
		}
	}
	return all
}

// families returns the definitions of all children that there may be: those of the definitions that an order
// may pin, and those that a child can be moved to.
func (sc *Scenario) families() []*core.Definition {
	if sc.below != nil {
		return sc.below
	}
	var all []*core.Definition
	for _, d := range sc.definitions() {
		all = append(all, childrenOf(d)...)
	}
	if sc.Begun == nil {
		for _, d := range childrenOf(sc.Definition) {
			all = append(all, workflows.Variants(d)...)
		}
	}
	seen := map[string]bool{}
	sc.below = slices.DeleteFunc(all, func(d *core.Definition) bool {
		was := seen[d.Hash]
		seen[d.Hash] = true
		return was
	})
	return sc.below
}

// agent is what the workflow, or that of a child, says of an agent.
func (w *simulation) agent(name string) core.AgentDefinition {
	for _, d := range w.below {
		if a, there := d.Agents[name]; there {
			return a
		}
	}
	return w.def.Agents[name]
}

// known are all definitions of which there may be tasks.
func (w *simulation) known() []*core.Definition {
	return append(slices.Clip(w.defs), w.below...)
}

// allSteps are those of the workflow and of its children's.
func (w *simulation) allSteps() (all []*core.StepDefinition) {
	for _, d := range append([]*core.Definition{w.def}, w.below...) {
		for i := range d.Steps {
			all = append(all, &d.Steps[i])
		}
	}
	return all
}

// born notes a child that is stored for the first time: no application submits it, or asks what became of it.
func (w *simulation) born(t *core.Task) *order {
	o := &order{id: t.OrderID, acked: true, seen: newHistory()}
	w.orders, w.byID[o.id] = append(w.orders, o), o
	return o
}

// children holds a parent to P40 with each commit.
func (m *move) children() {
	for i := range m.after.Steps {
		s, d := &m.after.Steps[i], &m.def.Steps[i]
		if d.Each == nil || s.Children == nil {
			continue
		}
		m.did("P40")
		c := s.Children
		open := map[int]bool{}
		for _, o := range c.Open {
			if open[o.Index] || o.Index >= c.Count {
				m.fail("P40", "step %s has child %d open twice, or beyond its %d", s.Name, o.Index, c.Count)
			}
			open[o.Index] = true
		}
		switch {
		case len(c.Open) > d.Each.Concurrency:
			m.fail("P40", "step %s has %d children open, %d may be", s.Name, len(c.Open), d.Each.Concurrency)
		case s.State == core.Processed && (len(c.Open) > 0 || c.Next < c.Count || c.Failed > d.Each.Tolerate):
			m.fail("P40",
				"step %s is Processed with %d children open, %d of %d started, and %d failed of %d that may",
				s.Name, len(c.Open), c.Next, c.Count, c.Failed, d.Each.Tolerate)
		}
	}
}

// checkChildren holds the children of a task at its end against what it claims (P41).
func (w *simulation) checkChildren(t *core.Task) {
	if len(w.below) == 0 {
		return
	}
	w.checks.did("P41")
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Children == nil {
			continue
		}
		stands := t.ProcessState == core.Processed && s.State == core.Processed
		failed := 0
		for n := range s.Children.Count {
			id := core.Parent{OrderID: t.OrderID, Run: t.Run, Step: s.Name, Index: n,
				Attempt: s.Attempt}.ChildID()
			child := w.store.task(id)
			switch {
			case stands && child != nil && !child.Terminal():
				w.violate("P41", "order %s is Processed, and its child %s is %s", t.OrderID, id,
					child.ProcessState)
			case child == nil || child.ProcessState != core.Processed:
				failed++
			}
		}
		if stands && failed != s.Children.Failed {
			w.violate("P41", "order %s is Processed, and %d children of step %s have failed, not %d",
				t.OrderID, failed, s.Name, s.Children.Failed)
		}
		for _, svc := range w.services { // in any order: one is enough
			if !stands && svc.net != 0 && strings.HasPrefix(svc.order, t.OrderID+"~"+s.Name+"~") {
				w.violate("P41", "order %s is %s, step %s is %s, and an effect of its child stands: %s",
					t.OrderID, t.ProcessState, s.Name, s.State, svc.key)
			}
		}
	}
}
