package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// SubmitResult is the result of one submission. If Known, Refusal and Err are not set, the order is new and
// stored.
type SubmitResult struct {
	OrderID string
	Known   bool          // the order existed before, and nothing was changed
	State   core.State    // state of the order's task, if the task exists
	Refusal *core.Refusal // reason for the refusal
	Notes   []string      // texts about parts of the order that have no effect, for people
	Err     error         // error after which the order may be stored; a repeated submission is safe
}

// Submit handles submissions without a queue, in the same way as Handle handles the intake queue. Each result
// has the index of its submission. Submit returns after the effects of the stored orders are sent.
func (s *Scheduler) Submit(ctx context.Context, orders []message.SubmitOrder) []SubmitResult {
	results := make([]SubmitResult, len(orders))
	ins := make([]*submission, len(orders))
	var all []incoming
	of := make([]*engine.Job, len(orders))
	var batch engine.Batch
	for i := range orders {
		err := orders[i].Check()
		in := newSubmission(&orders[i], err == nil)
		in.direct = true
		ins[i] = in
		if err != nil {
			in.Refusal = err.(*core.Refusal) // Check returns no other type of error
			s.count("refused", in.Refusal.Code)
			continue
		}
		of[i] = batch.Add(&in.Message)
		all = append(all, in)
	}
	s.carry(ctx, batch.Jobs, all)
	for i := range orders {
		results[i] = ins[i].result(s, of[i])
	}
	return results
}

func (in *submission) result(s *Scheduler, j *engine.Job) SubmitResult {
	r := SubmitResult{OrderID: in.order.OrderID, Refusal: in.Refusal, Err: in.Err}
	if in.Err != nil {
		r.Refusal = nil
		return r
	}
	if j != nil && j.Task != nil {
		r.State = j.Task.ProcessState
	}
	if r.Refusal == nil {
		r.Known = in.Before != nil
		r.Notes = s.notes(in.order.Priority)
	}
	return r
}

// Command executes a Cancel, Undo, Resubmit, Resolve, Close, Move or Erase at once and returns its
// verdict. The task stores the verdict too (P5, commands have a number and an ID).
//
// The error is a *core.Refusal if the command can never be executed. Any other error means that the
// command may have been executed. Then repeat the command with the same ID.
func (s *Scheduler) Command(ctx context.Context, c message.Control) (protocol.Verdict, error) {
	if err := c.Check(); err != nil {
		return protocol.Verdict{}, &core.Refusal{Code: message.CodeInvalid, Text: err.Error()}
	}
	if c.ID() == "" {
		return protocol.Verdict{}, &core.Refusal{
			Code: message.CodeInvalid, Field: "kind",
			Text: fmt.Sprintf("%q is no command", c.Kind()),
		}
	}
	in := newCommand(&c, false)
	var batch engine.Batch
	batch.Add(&in.Message)
	s.carry(ctx, batch.Jobs, []incoming{in})
	switch {
	case in.Err != nil:
		return protocol.Verdict{}, fmt.Errorf("%s task %q: %w", c.Kind(), c.OrderID, in.Err)
	case in.Refusal != nil:
		return protocol.Verdict{}, in.Refusal
	case in.Decision.Verdict == nil:
		return protocol.Verdict{}, fmt.Errorf("%s task %q: the command was not answered", c.Kind(), c.OrderID)
	}
	return *in.Decision.Verdict, nil
}

// carry runs the jobs until all effects are sent, because no queue would deliver the messages again
// (P12a, who emits again). If effects are unsent after the last try, a sweep sends them when the task is due
// (P9, tasks not at rest are due).
func (s *Scheduler) carry(ctx context.Context, jobs []*engine.Job, all []incoming) {
	for try := 1; ; try++ {
		s.run(ctx, jobs, all)
		if s.cfg.Pause == nil {
			return
		}
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *engine.Job) bool { return !j.Owes() })
		if len(jobs) == 0 || s.cfg.Pause(ctx, try) != nil {
			return
		}
		all = slices.DeleteFunc(slices.Clone(all), func(in incoming) bool { return in.decided().Err == nil })
		for _, j := range jobs {
			j.Again()
		}
	}
}
