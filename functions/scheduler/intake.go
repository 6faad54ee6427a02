package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
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

// first decides a submission of an order that is not there: its workflow and its reply-to must be
// deployed. Both are checked here only, since an order that was accepted stays accepted (P14).
func (s *Scheduler) first(ctx context.Context, j *job, it *item, at core.At) (core.Decision, error) {
	o := it.submit
	if j.ended {
		return core.Decision{}, expired(j.id)
	}
	def, err := s.cfg.State.Current(ctx, o.Workflow)
	var broken *state.BrokenWorkflow
	if errors.As(err, &broken) {
		return core.Decision{}, &message.Refusal{Code: CodeBrokenWorkflow, Field: "workflow",
			Text: fmt.Sprintf("the workflow %q is there, and its file cannot be used: %s; fix the file, then send the order again", o.Workflow, broken.Problem)}
	}
	if errors.Is(err, state.ErrUnknownWorkflow) {
		return core.Decision{}, &message.Refusal{Code: CodeUnknownWorkflow, Field: "workflow",
			Text: fmt.Sprintf("no workflow %q is deployed; check the name, or deploy it first", o.Workflow)}
	}
	if err != nil {
		return core.Decision{}, err
	}
	if o.ReplyTo != "" {
		if _, err := s.cfg.Queues.ReplyTo(o.ReplyTo); errors.Is(err, port.ErrNotFound) {
			return core.Decision{}, &message.Refusal{Code: CodeUnknownReplyTo, Field: "replyTo",
				Text: fmt.Sprintf("no reply-to %q is deployed; add the queue to the list of reply-to names, or leave it out", o.ReplyTo)}
		} else if err != nil {
			return core.Decision{}, err
		}
	}
	d, err := core.Decide(def, o.Order, nil, it.ev, at)
	if err == nil {
		j.def, j.order = def, o.Order
		j.create = &port.Order{ID: o.OrderID, ContentHash: it.ev.(core.Submitted).ContentHash, Body: o.Order, Created: at.Now.Std()}
	}
	return d, err
}

func expired(id string) error {
	return &message.Refusal{Code: CodeExpired, Field: "orderId",
		Text: fmt.Sprintf("order %q ended long ago and its record has expired; it was not run again: submit new work under a new ID", id)}
}

// answer tells the sender that the order is there. It has no sequence number and comes again with
// each redelivery.
func (s *Scheduler) answer(j *job, it *item, d core.Decision) {
	t := d.Task
	switch {
	case t.IsTombstone():
		s.reply(j, it, it.submit.ReplyTo, core.Status{Kind: core.StatusCancelled, OrderID: j.id, At: t.Ended,
			Message: "the order was cancelled before it came; it does not run"})
	case t.ReplyTo != "" && j.def != nil && j.def.Notifies(core.StatusReceived):
		j.effects = append(j.effects, core.SendStatus{ReplyTo: t.ReplyTo, Status: core.Status{
			Kind: core.StatusReceived, OrderID: t.OrderID, Workflow: t.Workflow, At: t.Created, Notes: message.Notes(t.Priority)}})
	}
}

// refuse tells the sender why; where there is no way to tell it, the operator finds the message in
// quarantine, so that nothing is dropped in silence.
func (s *Scheduler) refuse(j *job, it *item, r *message.Refusal) {
	it.refusal = r
	s.count("refused", r.Code)
	s.log.Info("refused", "task", j.id, "code", r.Code)
	status := core.Status{Kind: core.StatusRefused, OrderID: j.id, At: s.now(), Code: r.Code, Message: r.Text}
	switch {
	case it.submit != nil:
		_, replyTo := it.submit.Known()
		s.reply(j, it, replyTo, status)
	case it.control != nil:
		status.Kind, status.Command, status.CommandID = core.StatusCommandRefused, string(it.control.Kind), it.control.ID
		s.reply(j, it, it.control.ReplyTo, status)
	}
}

// refuseCommand tells the verdict of a command that came through the queue and was refused: to the
// reply-to that it names, else to that of the order. The verdict stands in the task all the same (P5).
func (s *Scheduler) refuseCommand(j *job, it *item, t *core.Task, v *core.Verdict) {
	replyTo := it.control.ReplyTo
	if replyTo == "" {
		replyTo = t.ReplyTo
	}
	s.reply(j, it, replyTo, core.Status{Kind: core.StatusCommandRefused, OrderID: j.id, Run: t.Run, Workflow: t.Workflow, At: v.At,
		Command: v.Command, CommandID: v.ID, Code: "refused", Message: v.Reason})
}

// reply adds a status to a name that was not checked before. Where it cannot be found out now
// whether there is such a queue, the message comes again.
func (s *Scheduler) reply(j *job, it *item, replyTo string, status core.Status) {
	if replyTo == "" || status.OrderID == "" {
		return
	}
	switch _, err := s.cfg.Queues.ReplyTo(replyTo); {
	case errors.Is(err, port.ErrNotFound):
	case err != nil:
		s.log.Warn("its sender cannot be told now; the message is given back", "task", j.id, "replyTo", replyTo, "error", err)
		it.err = err
	default:
		it.told = true
		j.effects = append(j.effects, core.SendStatus{ReplyTo: replyTo, Status: status})
	}
}
