package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// SubmitResult is the answer to one submission. A new order is durable unless Known, Refusal or Err is set.
type SubmitResult struct {
	OrderID string
	Known   bool             // the same order existed; nothing was changed
	State   core.State       // state of the order's task, if there is one
	Refusal *message.Refusal // reason for the refusal
	Notes   []string         // parts of a stored order that have no effect, for people
	Err     error            // the order may be stored: submit it again, which is harmless
}

// Submit handles submissions at once, in the same way as Handle processes the intake queue. The results are
// in the order of the submissions. All effects of stored orders are sent before it returns.
func (s *Scheduler) Submit(ctx context.Context, orders []message.SubmitOrder) []SubmitResult {
	results := make([]SubmitResult, len(orders))
	ins := make([]*submission, len(orders))
	var all []incoming
	of := make([]*engine.Job, len(orders))
	var batch engine.Batch
	for i := range orders {
		err := orders[i].Check()
		in := newSubmission(&orders[i], err == nil)
		if in.direct, ins[i] = true, in; err != nil {
			in.Refusal = err.(*message.Refusal) // Check returns nothing else
			s.count("refused", in.Refusal.Code)
			continue
		}
		of[i], all = batch.Add(&in.Message), append(all, in)
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
		r.Known, r.Notes = in.Before != nil, s.notes(in.order.Priority)
	}
	return r
}

// Command executes a Cancel, Undo, Resubmit, Resolve, Close, Move or Erase at once and returns its verdict,
// which the task stores too (P5, commands have a number and an ID). The error is a *message.Refusal if the
// command can never be executed. Any other error means that it may have been executed: repeat it with the
// same ID.
func (s *Scheduler) Command(ctx context.Context, c message.Control) (core.Verdict, error) {
	if err := c.Check(); err != nil {
		return core.Verdict{}, &message.Refusal{Code: message.CodeInvalid, Text: err.Error()}
	}
	if c.ID() == "" {
		return core.Verdict{}, &message.Refusal{Code: message.CodeInvalid, Field: "kind",
			Text: fmt.Sprintf("%q is no command", c.Kind())}
	}
	in := newCommand(&c, false)
	var batch engine.Batch
	batch.Add(&in.Message)
	s.carry(ctx, batch.Jobs, []incoming{in})
	switch {
	case in.Err != nil:
		return core.Verdict{}, fmt.Errorf("%s task %q: %w", c.Kind(), c.OrderID, in.Err)
	case in.Refusal != nil:
		return core.Verdict{}, in.Refusal
	case in.Decision.Verdict == nil:
		return core.Verdict{}, fmt.Errorf("%s task %q: the command was not answered", c.Kind(), c.OrderID)
	}
	return *in.Decision.Verdict, nil
}

// carry runs the jobs until all their effects are sent, because no queue would deliver the messages again
// (P12a, who emits again). After the last try, a sweep finds the task at its due time and sends the other
// effects (P9, tasks not at rest are due).
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
