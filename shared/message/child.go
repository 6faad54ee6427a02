package message

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Child is a message in the queue "tasks" between a parent task and its child (P41, parent and child talk by
// messages). Exactly one of Ask and Ended is set. Only the Scheduler writes and reads the queue.
type Child struct {
	Schema int              `json:"schema"`
	Ask    *core.AskChild   `json:"ask,omitempty"`   // request of the parent's step to the child
	Ended  *core.ChildEnded `json:"ended,omitempty"` // end of the child
}

// Encode returns the message as JSON.
func (m *Child) Encode() ([]byte, error) { return rawjson.Marshal(m) }

// Check returns an error if a field of the message is missing or invalid.
func (m *Child) Check() error {
	if err := checkSchema(m.Schema); err != nil {
		return err
	}
	switch {
	case (m.Ask == nil) == (m.Ended == nil):
		return unreadable("it must be what is asked of a child, or how a child has ended")
	case m.Ask != nil:
		return checkAsk(m.Ask)
	}
	switch m.Ended.State {
	case core.ChildProcessed, core.ChildCompensated, core.ChildError, core.ChildClosed, core.ChildExpired:
	default:
		return unreadable("state is %.40q; it must be processed, compensated, error, closed or expired",
			m.Ended.State)
	}
	if err := checkOutput(m.Ended.Output); err != nil {
		return err
	}
	return checkParent(&m.Ended.Parent)
}

func checkAsk(a *core.AskChild) error {
	switch {
	case a.Ask != core.AskStart && a.Ask != core.AskCancel && a.Ask != core.AskUndo:
		return unreadable("ask is %.40q; it must be start, cancel or undo", a.Ask)
	case a.OrderID != a.Parent.ChildID():
		return unreadable("task %.140q is not the child that its parent names", a.OrderID)
	case !workflowPattern.MatchString(a.Workflow) || !hashPattern.MatchString(a.Definition):
		return unreadable("workflow %.80q, definition %.40q: both must be there", a.Workflow, a.Definition)
	case len(a.Order) == 0 || a.Order[0] != '{':
		return unreadable("order must be a JSON object")
	}
	if err := rawjson.Check(a.Order, rawjson.MaxLevels); err != nil {
		return unreadable("%v", rawjson.In("order", err))
	}
	return checkParent(&a.Parent)
}

func checkParent(p *core.Parent) error {
	switch {
	case !taskPattern.MatchString(p.OrderID) || !taskPattern.MatchString(p.ChildID()):
		return unreadable("parent %.140q is no order's ID", p.OrderID)
	case p.Run < 0 || p.Index < 0 || p.Index >= core.MaxChildren:
		return unreadable("run and index count from 0")
	case !stepPattern.MatchString(p.Step):
		return unreadable("step %.60q is no step's name", p.Step)
	case p.Attempt < 1:
		return unreadable("attempt is %d; it counts from 1", p.Attempt)
	}
	return nil
}
