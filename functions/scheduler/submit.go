package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// Answer is what became of a submission.
type Answer string

const (
	Stored      Answer = "stored"      // a new order; it is durable
	Known       Answer = "known"       // the same order was there; nothing was changed
	Refused     Answer = "refused"     // see Refusal
	Unavailable Answer = "unavailable" // perhaps stored: submit it again, which is harmless
)

// SubmitResult is the answer to one submission.
type SubmitResult struct {
	OrderID string
	Answer  Answer
	State   core.State       // of the order's task, where it is there
	Refusal *message.Refusal // why it was refused
	Notes   []string         // what of an order that is stored has no effect, for people
	Err     error            // why it is unavailable
}

// Submit takes submissions at once, as Handle takes them from the intake queue. The answers stand
// at the places of the orders; what was stored was also sent before it returns.
func (s *Scheduler) Submit(ctx context.Context, orders []message.SubmitOrder) []SubmitResult {
	results := make([]SubmitResult, len(orders))
	items := make([]*item, len(orders))
	of := make([]*engine.Job, len(orders))
	var batch engine.Batch
	for i := range orders {
		o := &orders[i]
		items[i] = &item{s: s, direct: true, submit: o}
		if err := o.Check(); err != nil {
			items[i].refusal = err.(*message.Refusal) // Check answers nothing else
			s.count("refused", items[i].refusal.Code)
			continue
		}
		items[i].ev, items[i].New = submitted(o), true
		of[i] = batch.Add(o.OrderID, items[i])
	}
	s.carry(ctx, batch.Jobs)
	for i := range orders {
		results[i] = resultOf(orders[i].OrderID, items[i], of[i])
	}
	return results
}

func resultOf(id string, it *item, j *engine.Job) SubmitResult {
	r := SubmitResult{OrderID: id, Answer: Stored, Refusal: it.refusal, Err: it.Err}
	switch {
	case it.Err != nil:
		r.Answer = Unavailable
		return r
	case it.refusal != nil:
		r.Answer = Refused
	case it.known:
		r.Answer = Known
	}
	if j != nil && j.Task != nil {
		r.State = j.Task.ProcessState
	}
	if r.Refusal == nil {
		r.Notes = it.s.notes(it.submit.Priority)
	}
	return r
}

// Command carries out a Cancel, Undo, Resubmit, Resolve, Close, Move or Erase at once and answers its
// verdict, which also stands in the task (P5). The error is a *message.Refusal where the command can never be
// carried out; any other means "perhaps": repeat it with the same ID.
func (s *Scheduler) Command(ctx context.Context, c message.Control) (core.Verdict, error) {
	if err := c.Check(); err != nil {
		return core.Verdict{}, &message.Refusal{Code: message.CodeInvalid, Text: err.Error()}
	}
	if c.Kind == message.Wake || c.Kind == message.Settle {
		return core.Verdict{}, &message.Refusal{Code: message.CodeInvalid, Field: "kind",
			Text: fmt.Sprintf("%q is no command", c.Kind)}
	}
	it := &item{s: s, ev: controlled(&c), moveTo: c.Definition, token: c.Token}
	var batch engine.Batch
	batch.Add(c.OrderID, it)
	s.carry(ctx, batch.Jobs)
	switch {
	case it.Err != nil:
		return core.Verdict{}, fmt.Errorf("%s task %q: %w", c.Kind, c.OrderID, it.Err)
	case it.refusal != nil:
		return core.Verdict{}, it.refusal
	case it.verdict == nil:
		return core.Verdict{}, fmt.Errorf("%s task %q: the command was not answered", c.Kind, c.OrderID)
	}
	return *it.verdict, nil
}

// carry runs the loop until all is sent: no queue stands behind the sender that would bring its message
// again, so that this process does (P12a). What it has to give up is found by its due time (P9).
func (s *Scheduler) carry(ctx context.Context, jobs []*engine.Job) {
	for try := 1; len(jobs) > 0; try++ {
		s.engine.Run(ctx, jobs)
		if s.cfg.Pause == nil {
			return
		}
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *engine.Job) bool { return !j.Owes() })
		if len(jobs) == 0 || s.cfg.Pause(ctx, try) != nil {
			return
		}
		for _, j := range jobs {
			j.Again()
		}
	}
}
