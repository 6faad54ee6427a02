package simulate

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// fact returns the name of the first step whose result the operator can state, and the fact about the step.
// The operator learns the fact from the service. fact returns "" if the operator can state no result.
func fact(w *Simulation, t *protocol.Task) (string, core.Fact) {
	if t == nil || t.ProcessState != core.Error {
		return "", ""
	}
	now := core.Time(w.Start + w.Now - w.Skew())
	def := w.DefOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		d := &def.Steps[i]
		svc := w.Services[core.Key(t.OrderID, t.Run, s.Name)]
		if s.Children.ResolveRefusal(core.Undone) == "" {
			return s.Name, core.Undone // by hand
		}
		// The operator states only one fact after each claim, and none about a step without an agent.
		stated := s.Resolved != nil && s.Resolved.At > s.Claim.At
		if d.Agent == "" || !inDoubt(s) || stated || svc != nil && svc.Pending > 0 ||
			now <= s.LastStop().Add(def.Agents[d.Agent].ClockSkew) {
			continue
		}
		switch {
		case svc != nil && svc.Net > 0 && (t.Phase == core.Undoing || s.State == core.UndoWait) &&
			w.Conf(d.Agent).NoUndo:
			w.Trace("operator", "", "undoes "+svc.Key+" by hand")
			svc.Net = 0
			svc.Undone = true
			return s.Name, core.Undone
		case svc != nil && (svc.Net > 0 || noEffect(w, t, s.Name) && svc.Applied > 0):
			return s.Name, core.Happened
		case t.Phase == core.Undoing || s.State == core.UndoWait:
			return s.Name, core.Undone
		}
		return s.Name, core.NotHappened
	}
	return "", ""
}

func operate(w *Simulation) {
	w.Operating = restless(w) && (!w.Quiescing || stopped(w))
	if !w.Operating {
		return // the function quiesce and each later commit start operate again
	}
	for _, o := range w.AllOrders {
		t := w.Store.Task(o.Id)
		if halfErased(w, o) {
			erase(w, o)
			continue
		}
		if t == nil || t.ProcessState != core.Error || !t.AtRest() || t.End.ResendAt != 0 {
			continue
		}
		name := core.Resubmit
		if doubt(w, t) && w.Choose("careless", o.Id, 2, 0.1) == 0 {
			name = core.Resolve
		} else if triedInVain(w, o, t) {
			name = core.UndoCommand
			if past(w, t) || undoFails(t) {
				name = core.Close
			}
		} else if w.Choose("decides", o.Id, 2, 0.4) == 1 && !past(w, t) {
			name = core.UndoCommand
		} else if w.Choose("closes", o.Id, 2, 0.1) == 1 {
			name = core.Close
		} else if w.Choose("moves", o.Id, 2, 0.15) == 1 {
			name = core.Move
		}
		if t.Parent != nil && (name == core.UndoCommand || name == core.Close) {
			o, t, name = giveUp(w, o, t)
		}
		if c, ok := command(w, o, t, name); ok {
			byAnyWay(w, o, c)
		}
	}
	pause := int64(10 * 60_000)
	if w.Quiescing {
		pause = 30_000
	}
	w.After(pause, func() { operate(w) })
}

// giveUp returns the command that gives up a stopped child, and the order that gets the command. A child
// accepts no Undo, so the operator cancels the order above all others. If that is not possible any more, the
// operator resubmits the child. After many commands in vain the operator closes the child, and states later
// that its effects were undone by hand, because a parent cannot undo a closed child (see
// shared/protocol/testdata/stories/child-closed.story).
func giveUp(w *Simulation, o *Order, t *protocol.Task) (*Order, *protocol.Task, string) {
	top := o
	above := t
	for above != nil && above.Parent != nil {
		top = w.ByID[above.Parent.OrderID]
		if top == nil {
			return o, t, core.Resubmit
		}
		above = w.Store.Task(top.Id)
	}
	switch {
	case above != nil && above.ProcessState == core.Processing && !above.Undo.CancelAsked && !past(w, above):
		return top, above, core.Cancel
	case triedInVain(w, o, t):
		return o, t, core.Close
	}
	return o, t, core.Resubmit
}

// erase sends the command Erase for an order in any state. It ignores child orders, because tests of the
// Scheduler cover their erasure.
func erase(w *Simulation, o *Order) {
	if t := w.Store.Task(o.Id); t == nil || t.Parent == nil {
		c, _ := command(w, o, t, core.Erase)
		byAnyWay(w, o, c)
	}
}

// halfErased reports whether an order is marked as erased but still has its content. This happens if the
// Scheduler dies between the two writes.
func halfErased(w *Simulation, o *Order) bool {
	t := w.Store.Task(o.Id)
	return t != nil && t.Erased != nil && w.Store.Holds(t)
}

func undoFails(t *protocol.Task) bool {
	return slices.ContainsFunc(t.Steps, func(s protocol.Step) bool {
		return s.State == core.UndoWait && s.Error != nil && s.Error.Code == "expression"
	})
}

// triedInVain reports whether the phase with faults is over, the order has had at least 12 commands, and a
// further Resubmit cannot help. A Resubmit cannot help in these cases:
//   - an input cannot be computed
//   - an output is too large
//   - a step without an agent has failed
func triedInVain(w *Simulation, o *Order, t *protocol.Task) bool {
	switch {
	case !w.Quiescing || o.Commands < 12:
		return false
	case undoFails(t):
		return true
	case t.Phase != core.Forward:
		return false
	}
	def := w.DefOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.State == core.Failed && (def.Steps[i].Agent == "" || s.Error != nil &&
			slices.Contains([]string{"expression", core.CodeOutputTooLarge}, s.Error.Code)) {
			return true
		}
	}
	return false
}

// inDoubt reports whether the step was claimed and the result of the step may be unknown.
func inDoubt(s *protocol.Step) bool {
	return s.Attempted() && (s.State == core.Failed || s.State == core.UndoWait || s.State == core.Pending)
}

// doubt reports whether the operator must state the result of a step before the task can continue.
func doubt(w *Simulation, t *protocol.Task) bool {
	def := w.DefOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		d := &def.Steps[i]
		if s.Children.ResolveRefusal(core.Undone) == "" {
			return true
		}
		if d.Agent == "" {
			continue // fact states nothing about it
		}
		if d.PointOfNoReturn && inDoubt(s) {
			if s.NoEffect == 0 {
				// The task can be undone only after the operator has stated the result (P22a, a proven
				// refusal permits undo).
				return true
			}
			continue
		}
		entry, _ := w.Ledgers[d.Agent].Entry(ctx, core.Key(t.OrderID, t.Run, s.Name)) // a lookup without faults
		if d.Grade == core.Plain && def.Agents[d.Agent].KeyRetention == 0 && entry.State == worker.StateFailed {
			continue // the ledger proves that the refused call had no effect
		}
		if inDoubt(s) && (s.Resolved == nil || s.Resolved.At <= s.Claim.At) && (d.Grade == core.Plain ||
			s.State == core.Failed && s.Error != nil && s.Error.Code == core.CodeOutputTooLarge ||
			w.Conf(d.Agent).NoUndo && (t.Phase == core.Undoing || s.State == core.UndoWait) ||
			def.Agents[d.Agent].KeyRetention > 0) {
			return true
		}
	}
	return false
}

func past(w *Simulation, t *protocol.Task) bool { return pastReturn(w.DefOf(t), t) }

func restless(w *Simulation) bool {
	return slices.ContainsFunc(w.AllOrders, func(o *Order) bool { return !rests(w, o) })
}

func stopped(w *Simulation) bool {
	return slices.ContainsFunc(w.AllOrders, func(o *Order) bool {
		t := w.Store.Task(o.Id)
		return t != nil && t.ProcessState == core.Error || halfErased(w, o)
	})
}

func rests(w *Simulation, o *Order) bool {
	t := w.Store.Task(o.Id)
	switch {
	case t == nil:
		return o.Refused || w.Store.Known(o.Id) // refused, or expired after its end
	case !o.Acked && !o.Refused:
		return false
	}
	return t.Terminal() && t.AtRest() && !halfErased(w, o)
}

// unended returns a description of the orders that have not ended.
func unended(w *Simulation) string {
	text := ""
	for _, o := range w.AllOrders {
		if rests(w, o) {
			continue
		}
		t := w.Store.Task(o.Id)
		if t == nil {
			text += fmt.Sprintf("%s is not stored (acknowledged %v, refused %v); ", o.Id, o.Acked, o.Refused)
			continue
		}
		text += fmt.Sprintf("%s is %s %s (reported %v)", o.Id, t.ProcessState, t.Phase, t.End.ResendAt == 0)
		for i := range t.Steps {
			text += fmt.Sprintf(" %s=%s/%d", t.Steps[i].Name, t.Steps[i].State, t.Steps[i].Attempt)
		}
		text += "; "
	}
	return text
}
