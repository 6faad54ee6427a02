package message

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

func checkAsk(a core.AskChild) error {
	switch {
	case a.Ask != core.AskStart && a.Ask != core.AskCancel && a.Ask != core.AskUndo:
		return unreadable("ask is %.40q; it must be start, cancel or undo", a.Ask)
	case a.OrderID != a.Parent.ChildID():
		return unreadable("task %.140q is not the child that its parent names", a.OrderID)
	case !childPattern.MatchString(a.Workflow) || !hashPattern.MatchString(a.Definition):
		return unreadable("workflow %.80q, definition %.40q: both must be there", a.Workflow, a.Definition)
	case len(a.Order) > 0 && a.Order[0] != '{': // an iteration that has ended is asked without its order
		return unreadable("order must be a JSON object")
	case len(a.Answers) > core.MaxPassed || len(a.Answers) > 0 && a.Ask != core.AskStart:
		return unreadable("%d answers with %s; a start has at most %d", len(a.Answers), a.Ask, core.MaxPassed)
	}
	for _, p := range a.Answers {
		err := checkAnswer(core.Answered{ID: p.ID, Name: p.Name, By: p.By, Value: p.Value, Note: p.Note})
		if err != nil {
			return err
		}
	}
	return checkParent(&a.Parent)
}

func checkEnded(e core.ChildEnded) error {
	switch e.State {
	case core.ChildProcessed, core.ChildCompensated, core.ChildError, core.ChildClosed, core.ChildExpired,
		core.ChildRefused:
	default:
		return unreadable("state is %.40q; it must be processed, compensated, error, closed, expired or refused", e.State)
	}
	return checkParent(&e.Parent)
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
