package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Codes of refusals at intake, beside those of package message and of the core.
const (
	CodeUnknownWorkflow = "unknown-workflow"
	CodeBrokenWorkflow  = "broken-workflow"
	CodeUnknownReplyTo  = "unknown-reply-to"
	CodeExpired         = "expired"
	CodeTooLarge        = message.CodeTooLarge
)

// Decide of engine.Decider.
func (it *item) Decide(ctx context.Context, j *engine.Job) ([]core.Effect, error) {
	it.answered, it.early, it.known, it.refusal, it.verdict, it.lesson = false, false, j.Task != nil, nil,
		nil, lesson{}
	before := j.Task
	if ask, ok := it.ev.(core.AskChild); ok && j.Task == nil {
		_, reported, err := it.firstChild(ctx, j, ask)
		return reported, err
	}
	d, err := it.decide(ctx, j)
	switch refusal := refusalOf(err); {
	case refusal != nil && it.submit != nil && j.Unseen: // P14: an order that is there stays accepted
		return nil, engine.ErrReload
	case refusal != nil && it.isEarly(refusal):
		it.early = true
		return nil, nil
	case refusal != nil:
		return it.refuse(j.ID, it.replyTo(), refusal), nil
	case err != nil:
		return nil, err
	}
	if it.verdict = d.Verdict; d.Changed {
		it.lesson = it.teaches(j, before)
	}
	return it.answer(j, d), nil
}

func (it *item) decide(ctx context.Context, j *engine.Job) (core.Decision, error) {
	// of an instance that read the keys later
	if j.Task != nil && j.Task.TokenKey != "" && j.At.Tokens != nil && !j.At.Tokens.Holds(j.Task.TokenKey) {
		var err error
		if j.At.Tokens, err = it.s.cfg.Tokens(ctx, true); err != nil {
			return core.Decision{}, err
		}
	}
	switch {
	case j.Definition != nil && j.Definition.Tokens && j.At.Tokens == nil:
		// a Scheduler that has the keys goes on
		return core.Decision{}, fmt.Errorf("task %q: %w", j.ID, errNoKeys)
	case it.ev == nil:
		return j.Restart(ctx)
	case j.Task == nil && it.submit != nil:
		return it.first(ctx, j)
	case j.Task == nil && j.Expired && isCancel(it.ev):
		return core.Decision{}, expired(j.ID)
	}
	if err := it.s.notAsked(j.Definition, it); err != nil {
		return core.Decision{}, err
	}
	ev, to, err := it.aimed(ctx, j)
	if err == nil && it.token != "" && j.Task != nil {
		ev, err = it.vouched(j)
	}
	if err == nil && j.Task != nil {
		switch e := ev.(type) {
		case core.Close:
			ev, err = it.withAbsent(ctx, j.Task, e)
		case core.Erase:
			ev, err = it.withUnrested(ctx, j.Task, e)
		}
	}
	if err != nil {
		return core.Decision{}, err
	}
	d, err := j.Decide(ctx, ev)
	if err == nil && to.Definition != nil && d.Task != nil && d.Task.Definition == to.Definition.Hash {
		j.Definition = to.Definition // what comes after it in this batch is decided by it
	}
	return d, err
}

// errNoKeys: the order's workflow makes tokens, and this Scheduler was deployed without their keys.
var errNoKeys = errors.New("there is no key for the tokens of its workflow; deploy it with the workflow")

// vouched is an answer as its token says: the run, the step and the person are the token's (P39).
func (it *item) vouched(j *engine.Job) (core.Event, error) {
	if j.At.Tokens == nil {
		return nil, &message.Refusal{Code: core.CodeNoTokens, Field: "token",
			Text: "this deployment has no key for tokens; answer as a person, with by"}
	}
	of, err := j.At.Tokens.Read(j.ID, it.token, j.At.Now)
	if err != nil {
		return nil, err
	}
	e := it.ev.(core.Answered)
	e.Run, e.Step, e.Name, e.By = of.Run, of.Step, "", cmp.Or(of.Person, core.ByToken)
	return e, nil
}

// aimed is the event with what it is compared with (P14), or the definition that it moves the task to, if it
// does (P49).
func (it *item) aimed(ctx context.Context, j *engine.Job) (ev core.Event, to core.Target, err error) {
	if ask, ok := it.ev.(core.AskChild); ok {
		return it.withDefinition(ctx, j.Task, ask)
	}
	if e, ok := it.ev.(core.Submitted); ok && j.Task != nil {
		e.KnownHash = message.HashOf(j.Task)
		return e, to, nil
	}
	if it.moveTo == "" || j.Task == nil {
		return it.ev, to, nil
	}
	if to, err = it.s.cfg.State.Target(ctx, j.Task.Workflow, it.moveTo,
		it.moveTo == message.Latest); err != nil {
		return nil, to, err
	}
	switch e := it.ev.(type) {
	case core.Move:
		e.To = to
		return e, to, nil
	case core.Resubmit:
		e.To = &to
		return e, to, nil
	}
	return it.ev, core.Target{}, nil
}

// withAbsent is a Close with those open children that will not end by themselves (P48): not stored, damaged,
// or ended with an end that an undo of them would leave as it is.
func (it *item) withAbsent(ctx context.Context, t *core.Task, e core.Close) (core.Event, error) {
	for i := range t.Steps {
		s := &t.Steps[i]
		open := t.OpenChildren(s)
		if len(open) == 0 {
			continue
		}
		for n, l := range it.s.cfg.State.Load(ctx, open) {
			switch {
			case errors.Is(l.Err, port.ErrDamaged):
			case l.Err != nil:
				return nil, l.Err
			case l.Task != nil && (!l.Task.Terminal() || s.Undo && l.Task.ProcessState == core.Processed):
				continue
			}
			e.Absent = append(e.Absent, open[n])
		}
	}
	return e, nil
}

// withUnrested is an Erase with the nearest order that the task is a child of, directly or not, and that has
// not come to rest (P52). One that is not stored any more has ended. A damaged one may still need its child.
// The hash of the content, which stays, is added too.
func (it *item) withUnrested(ctx context.Context, t *core.Task, e core.Erase) (core.Event, error) {
	e.KnownHash = message.HashOf(t)
	for p := t.Parent; p != nil && e.Unrested == ""; {
		l := it.s.cfg.State.Load(ctx, []string{p.OrderID})[0]
		switch {
		case l.Err != nil && !errors.Is(l.Err, port.ErrDamaged):
			return nil, l.Err
		case l.Err != nil || l.Task != nil && !(l.Task.Terminal() && l.Task.AtRest()):
			e.Unrested = p.OrderID
		case l.Task == nil:
			return e, nil
		default:
			p = l.Task.Parent
		}
	}
	return e, nil
}

func isCancel(ev core.Event) bool {
	_, ok := ev.(core.Cancel)
	return ok
}

// refusalOf is the refusal that is sent to its sender, nil where the error is none.
func refusalOf(err error) *message.Refusal {
	if err == nil {
		return nil
	}
	var decided *core.Refusal
	var unfit *message.Refusal
	switch {
	case errors.As(err, &decided):
		return &message.Refusal{Code: decided.Code, Field: decided.Field, Text: decided.Text}
	case errors.As(err, &unfit):
		return unfit
	}
	return nil
}

// first decides a submission of an order that is not there: its workflow and its reply-to must be
// deployed. Both are checked here only, since an order that was accepted stays accepted (P14).
func (it *item) first(ctx context.Context, j *engine.Job) (core.Decision, error) {
	o := it.submit
	if j.Expired {
		return core.Decision{}, expired(j.ID)
	}
	def, err := it.s.cfg.State.Current(ctx, o.Workflow)
	var broken *state.BrokenWorkflow
	if errors.As(err, &broken) {
		return core.Decision{}, &message.Refusal{Code: CodeBrokenWorkflow, Field: "workflow",
			Text: fmt.Sprintf(
				"the workflow %q is there, and its file cannot be used: %s; fix the file, then send the "+
					"order again", o.Workflow, broken.Problem)}
	}
	if errors.Is(err, state.ErrUnknownWorkflow) {
		return core.Decision{}, &message.Refusal{Code: CodeUnknownWorkflow, Field: "workflow",
			Text: fmt.Sprintf("no workflow %q is deployed; check the name, or deploy it first", o.Workflow)}
	}
	if err != nil {
		return core.Decision{}, err
	}
	if o.ReplyTo != "" {
		if _, err := it.s.cfg.Queues.ReplyTo(o.ReplyTo); errors.Is(err, port.ErrNotFound) {
			return core.Decision{}, &message.Refusal{Code: CodeUnknownReplyTo, Field: "replyTo",
				Text: fmt.Sprintf(
					"no reply-to %q is deployed; add the queue to the list of reply-to "+
						"names, or leave it out", o.ReplyTo)}
		} else if err != nil {
			return core.Decision{}, err
		}
	}
	return j.Start(def, o.Order, it.ev)
}

func expired(id string) error {
	return &message.Refusal{Code: CodeExpired, Field: "orderId",
		Text: fmt.Sprintf(
			"order %q ended long ago and its record has expired; it was not run again: submit new work "+
				"under a new ID", id)}
}

// answer notifies the sender that the order is there, or why its command was refused: to the reply-to that
// the command names, else to that of the order. It has no sequence number and comes again with each
// redelivery; the verdict stands in the task all the same (P5).
func (it *item) answer(j *engine.Job, d core.Decision) []core.Effect {
	t, v := d.Task, d.Verdict
	switch {
	case it.submit != nil && t.IsTombstone():
		return it.reply(it.submit.ReplyTo, core.Status{Kind: core.StatusCancelled, OrderID: j.ID, At: t.Ended,
			Message: "the order was cancelled before it came; it does not run"})
	case it.direct && it.known && !it.Again: // a copy whose sender learns at once that the order is there
		return nil
	case it.submit != nil && t.ReplyTo != "" && j.Definition != nil &&
		j.Definition.Notifies(core.StatusReceived):
		return []core.Effect{core.SendStatus{ReplyTo: t.ReplyTo, Status: core.Status{
			Kind: core.StatusReceived, OrderID: t.OrderID, Workflow: t.Workflow, At: t.Created,
			Notes: it.s.notes(t.Priority)}}}
	case it.control != nil && v != nil && !v.Accepted:
		return it.reply(cmp.Or(it.control.ReplyTo, t.ReplyTo),
			core.Status{Kind: core.StatusCommandRefused, OrderID: j.ID, Run: t.Run,
				Workflow: t.Workflow, At: v.At, Command: v.Command, CommandID: v.ID, Code: "refused",
				Message: v.Reason})
	}
	return nil
}

// replyTo is where the sender of a submission or a command wants to be notified.
func (it *item) replyTo() string {
	switch {
	case it.submit != nil:
		_, replyTo := it.submit.Known()
		return replyTo
	case it.control != nil:
		return it.control.ReplyTo
	}
	return ""
}

// refuse notifies the sender of the reason; where that is not possible, the operator finds the message in
// quarantine, so that nothing is dropped in silence.
func (it *item) refuse(id, replyTo string, r *message.Refusal) []core.Effect {
	it.refusal = r
	it.s.count("refused", r.Code)
	it.s.log.Info("refused", "order", id, "code", r.Code)
	status := core.Status{Kind: core.StatusRefused, OrderID: id, At: it.s.now(), Code: r.Code,
		Message: r.Text}
	if it.control != nil {
		status.Kind, status.Command, status.CommandID = core.StatusCommandRefused, string(it.control.Kind),
			it.control.ID
	}
	return it.reply(replyTo, status)
}

// reply is a status to a name that was not checked before. Where it cannot be found out now
// whether there is such a queue, the message comes again.
func (it *item) reply(replyTo string, status core.Status) []core.Effect {
	if replyTo == "" || status.OrderID == "" {
		return nil
	}
	switch _, err := it.s.cfg.Queues.ReplyTo(replyTo); {
	case errors.Is(err, port.ErrNotFound):
		return nil
	case err != nil:
		it.s.log.Warn("its sender cannot be notified now; the message is returned to the queue", "order",
			status.OrderID, "replyTo", replyTo, "error", err)
		it.Err = err
		return nil
	}
	it.answered = true
	return []core.Effect{core.SendStatus{ReplyTo: replyTo, Status: status}}
}
