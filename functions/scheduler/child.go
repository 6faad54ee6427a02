package scheduler

import (
	"context"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// child reads a message from one task to another (P41).
func (it *item) child(m *message.Child) (id string) {
	if m.Ended != nil {
		it.ev = *m.Ended
		return m.Ended.Parent.OrderID
	}
	ask := *m.Ask
	ask.ContentHash = message.ContentHash(message.SubmitOrder{Workflow: ask.Workflow, Order: ask.Order,
		Priority: ask.Priority})
	it.ev, it.New = ask, ask.Ask == core.AskStart
	return ask.OrderID
}

// firstChild decides what is asked of a child that is not there. One whose record has expired had ended
// (P26).
func (it *item) firstChild(ctx context.Context, j *engine.Job,
	ask core.AskChild) (core.Decision, []core.Effect, error) {
	ended := func(state core.ChildState, code, text string) []core.Effect {
		return []core.Effect{core.ChildEnded{Parent: ask.Parent, State: state, Code: code, Message: text}}
	}
	if j.Expired {
		return core.Decision{}, ended(core.ChildExpired, CodeExpired,
			"the child ended long ago and its record has expired"), nil
	}
	def, err := it.s.cfg.State.Definition(ctx, ask.Definition)
	switch {
	case err != nil && j.Unseen: // a child that is there keeps its own definition
		return core.Decision{}, nil, engine.ErrReload
	case err != nil:
		return core.Decision{}, nil, err
	}
	d, err := j.Start(def, ask.Order, ask)
	switch refusal := refusalOf(err); {
	case refusal != nil && j.Unseen: // P14: one that is there has begun
		return core.Decision{}, nil, engine.ErrReload
	case refusal != nil: // it can never be stored, so it never begins
		return core.Decision{}, ended(core.ChildCompensated, refusal.Code, refusal.Text), nil
	}
	return d, nil, err
}

// withDefinition returns the request with the definition that it names, if that can become the definition of
// the child's next run (P41).
func (it *item) withDefinition(ctx context.Context, t *core.Task,
	ask core.AskChild) (core.Event, core.Target, error) {
	if ask.Ask != core.AskStart || t.ProcessState != core.Compensated || ask.Definition == t.Definition {
		return ask, core.Target{}, nil
	}
	to, err := it.s.cfg.State.Target(ctx, t.Workflow, ask.Definition, false)
	ask.To = to.Definition
	return ask, to, err
}
