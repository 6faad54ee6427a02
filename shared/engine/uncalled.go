package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// uncalledWithin is the time in which most of the steps that wait for an agent have their next attempt.
	// The wait is at most five minutes, half as much again, and the grace (P45, "not now" is not a failure).
	uncalledWithin = 15 * time.Minute
	uncalledPage   = 200 // entries of the index in one page
	uncalledPages  = 100 // largest number of pages that one search reads
)

// WakeUncalled wakes steps that wait because an agent could not call an operation, at most as many as the
// argument most. Without an operation it wakes steps of all operations. It finds the steps in the index of due
// tasks. A lost Wake delays its step only until the step's own time (P9a, a waiting step has two times).
func (e *Engine) WakeUncalled(ctx context.Context, agent, operation string, most int) (woken int, err error) {
	store := e.State.Port()
	until := e.Clock.Now().Add(uncalledWithin)
	var after *port.Due
	for shard, pages := 0, 0; shard < store.Shards() && pages < uncalledPages && woken < most; pages++ {
		due, err := store.Due(ctx, port.DueBucket, shard, until, after, uncalledPage)
		if err != nil {
			return woken, fmt.Errorf("look for the steps that wait for agent %q: %w", agent, err)
		}
		wakes := e.uncalled(ctx, due, agent, operation)
		wakes = wakes[:min(len(wakes), most-woken)]
		if err := e.Send(ctx, wakes...); err != nil {
			return woken, err
		}
		woken += len(wakes)
		after = nil
		if len(due) == uncalledPage {
			after = &due[len(due)-1]
		} else {
			shard++
		}
	}
	return woken, nil
}

// uncalled returns Wakes for the steps of the due tasks that wait because the agent could not call the
// operation.
func (e *Engine) uncalled(ctx context.Context, due []port.Due, agent, operation string) (
	wakes []core.Effect,
) {
	ids := make([]string, len(due))
	for i := range due {
		ids[i] = due[i].ID
	}
	for _, l := range e.State.Load(ctx, ids) {
		if l.Err != nil || l.Task == nil {
			continue
		}
		def, err := e.State.Definition(ctx, l.Task.Workflow, l.Task.Definition)
		if err != nil || def == nil {
			continue
		}
		for i := range l.Task.Steps {
			s := &l.Task.Steps[i]
			d := def.Index(s.Name)
			if !s.Uncalled() || d < 0 || s.AskedAgent(&def.Steps[d]) != agent {
				continue
			}
			// An agent that is not deployed has no operations.
			if operation == "" || s.Error.Code == core.CodeNoAgent || s.OperationOf(&def.Steps[d]) == operation {
				wakes = append(wakes, core.SendWake{
					OrderID: l.Task.OrderID, Run: l.Task.Run, Step: s.Name,
					Attempt: s.Attempt, Early: true,
				})
			}
		}
	}
	return wakes
}
