package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// startChild creates a child task (P41, parent and child talk by messages). If the first request is an undo
// or a cancel, the child is Compensated from the beginning, and reports this state to the parent. A later
// attempt of the parent's step can start the child.
func startChild(def *core.Definition, order []byte, e core.AskChild, at At) (Decision, error) {
	if def == nil || def.Hash != e.Definition {
		return Decision{}, fmt.Errorf("child %q: its definition %q is not there: %w", e.OrderID, e.Definition,
			core.ErrUnfit)
	}
	return create(def, order, core.Submitted{
		OrderID: e.OrderID, Workflow: def.Name,
		ContentHash: e.ContentHash,
		Priority:    e.Priority,
	}, &e, at)
}

// askedByParent decides a parent's request to an existing child (P41). The child keeps the highest attempt
// that has sent a request, and its messages to the parent contain this attempt. A request of an earlier
// attempt changes nothing.
func (r *decision) askedByParent(ev core.Event) (string, error) {
	e := ev.(core.AskChild)
	t := r.t
	if t.Parent == nil {
		return "the order is no child", nil
	}
	have := *t.Parent
	asks := e.Parent
	newer := asks.Attempt > have.Attempt
	have.Attempt = 0
	asks.Attempt = 0
	if have != asks {
		return "the order is the child of another step", nil
	}
	r.asked = true
	if e.Parent.Attempt < t.Parent.Attempt {
		return "a later attempt of its parent has asked", nil
	}
	if newer {
		t.Parent = &e.Parent
	}
	switch mode := modeOf(t); {
	case t.Erased != nil: // an erased child only reports its end (P52, erase removes content, not identity)
	case e.Ask == core.AskStart && mode == compensated && newer:
		// The next run starts from the beginning, so that the child can follow the definition of the parent's step. If
		// the move is refused, the child keeps its definition.
		if e.To != nil && e.To.Name == t.Workflow && e.To.Hash != t.Definition {
			_ = r.pin(e.To)
		}
		again := core.Command{}
		if r.def.Deadline != 0 {
			again.Deadline = r.at.Now.Add(r.def.Deadline)
		}
		r.restart(again)
		r.takePassed(e.Answers)
		return "", nil
	case e.Ask == core.AskStart && r.takePassed(e.Answers):
		return "", nil
	case e.Ask == core.AskStart, r.t.PastPointOfNoReturn(r.def):
	case mode == going:
		r.t.compensate(WhyParent)
		return "", nil
	case mode == errForward:
		r.startUndo(WhyParent)
		return "", nil
	case mode == processed && e.Ask == core.AskUndo:
		t.Output = nil
		t.Reason = Reason{}
		r.startUndo(WhyParent)
		return "", nil
	}
	if newer { // the report must contain the newer attempt
		r.emit(r.t.reportToParent()...)
		return "", nil
	}
	return "the child is " + string(t.ProcessState), nil
}

// reportToParent returns the report of the end or the Error of a child to its parent. A running child, and an order
// without a parent, report nothing.
func (t *Task) reportToParent() []core.Effect {
	if t.Parent == nil {
		return nil
	}
	e := core.ChildEnded{Parent: *t.Parent, Code: t.Reason.Code, Message: t.Reason.Text, Took: t.Took}
	switch mode := modeOf(t); {
	case mode == compensated || mode == cancelled:
		e.State = core.ChildCompensated
	case t.Erased != nil: // an erased child can neither be undone nor return its output
		e.State = core.ChildExpired
	case mode == processed:
		e.State = core.ChildProcessed
		e.Output = t.Output
	case mode == closed:
		e.State = core.ChildClosed
	case mode == errForward || mode == errUndo:
		e.State = core.ChildError
	default:
		return nil
	}
	return []core.Effect{e}
}
