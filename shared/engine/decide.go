package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// decide decides the messages of a job one after the other. It returns errReload if the loaded task is too
// old, or if the task was not loaded. Every other returned error makes the whole job fail. An error of a
// single message is in the message's Outcome.
func (e *Engine) decide(ctx context.Context, j *Job, at protocol.At) (err error) {
	if e.Tokens != nil {
		at.Tokens, err = e.Tokens(ctx, false)
		if err != nil {
			return err
		}
	}
	if e.Claims && j.loaded != nil { // the Supervisor sends no status
		at.Told = e.sending.told(j.ID, j.loaded.StatusSeq)
	}
	err = e.messages(ctx, j, at)
	if errors.Is(err, core.ErrUnfit) && j.loaded != nil && j.loaded.Damaged == "" {
		err = e.damaged(ctx, j, err.Error())
		if err == nil {
			// The message that found the damage may be refused, and nothing else may look at the task for days.
			j.Messages = slices.Insert(j.Messages, 0, &Message{OrderID: j.ID})
			err = e.messages(ctx, j, at)
		}
	}
	if err != nil {
		return err
	}
	if j.Push && !j.changed && j.Err() == nil && j.Task.Damaged == "" {
		j.Task, j.Pushed = protocol.Push(j.Task)
		j.changed = j.Pushed
	}
	return nil
}

func (e *Engine) messages(ctx context.Context, j *Job, at protocol.At) error {
	for _, m := range j.Messages {
		before := j.decided
		at.Now = cmp.Or(j.Now, core.TimeOf(e.Clock.Now()))
		m.Outcome = Outcome{Before: j.Task, At: at.Now}
		switch err := e.message(ctx, j, m, at); {
		case errors.Is(err, core.ErrStale) && j.status < reread:
			return errReload
		case errors.Is(err, core.ErrStale): // the message returns to its queue (P8)
			e.ahead(j.ID, m.Event)
			j.decided = before
			m.Outcome = Outcome{Err: err}
		case errors.Is(err, errPanic),
			errors.Is(err, core.ErrUnfit) && j.loaded != nil && j.loaded.Damaged != "":
			j.decided = before
			m.Outcome = Outcome{Err: err}
		case err != nil:
			return err
		default:
			m.Definition = j.Definition
		}
	}
	return nil
}

// message decides one message. A panic becomes an error, so that the job's other messages are still decided.
func (e *Engine) message(ctx context.Context, j *Job, m *Message, at protocol.At) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e.Logger.Error("decision panicked; the message is returned to the queue", "order", j.ID,
				"panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("task %q: %w", j.ID, errPanic)
		}
	}()
	in, err := e.inputs(ctx, j, m, &at)
	if err == nil {
		m.Decision, err = e.apply(ctx, j, in, at, j.sends(m))
	}
	if err == nil && m.Decision.Ignored != "" && j.sends(m) {
		err = e.repeatFollowUps(ctx, j, m, at)
	}
	if !errors.As(err, &m.Refusal) {
		return err
	}
	if m.creates() && j.status == unread { // an existing order stays accepted (P14, submit creates once)
		return errReload
	}
	return nil
}

// repeatFollowUps adds the effects of earlier follow-up jobs to a message that was handled before. The
// message must repeat these effects, because no queue contains the messages of a follow-up job (P12a, who
// emits again).
func (e *Engine) repeatFollowUps(ctx context.Context, j *Job, m *Message, at protocol.At) error {
	for _, ev := range followedUp(j.Task) {
		in := input{definition: j.Definition, order: j.order, hash: j.hash, event: ev}
		d, err := e.apply(ctx, j, in, at, true)
		if err != nil {
			return err
		}
		m.Decision.Effects = append(m.Decision.Effects, d.Effects...)
	}
	return nil
}

// apply lets package protocol decide an event, and stores the new task in the job. If again is true, it keeps
// the effects even if the event changes nothing.
func (e *Engine) apply(ctx context.Context, j *Job, in input, at protocol.At,
	again bool,
) (protocol.Decision, error) {
	d, err := protocol.Decide(in.definition, in.order, j.Task, in.event, at)
	if errors.Is(err, core.ErrOrderNeeded) && len(in.order) == 0 && j.Task != nil {
		in.order, err = e.State.Order(ctx, j.Task)
		switch {
		case err == nil:
			d, err = protocol.Decide(in.definition, in.order, j.Task, in.event, at)
		case errors.Is(err, port.ErrNotFound) && j.status < reread: // the order may have been erased meanwhile
			err = errReload
		case errors.Is(err, port.ErrNotFound):
			err = fmt.Errorf("%w: %w", core.ErrUnfit, err)
		}
	}
	if err != nil {
		return protocol.Decision{}, err
	}
	if d.Ignored != "" {
		e.count("ignored", d.Ignored)
		e.Logger.Debug("event changed nothing", "order", j.ID, "why", d.Ignored)
		if !again && !repeats(in.event, j.Task) {
			d.Effects = nil
		}
	}
	j.Task = d.Task
	j.Definition = in.definition
	j.order = in.order
	j.hash = in.hash
	j.changed = j.changed || d.Changed
	if in.target != nil && d.Task != nil && d.Task.Definition == in.target.Hash {
		j.Definition = in.target // this definition also decides the next messages of the job
	}
	return d, nil
}

// repeats reports whether the engine sends the effects of an event even if the event changes nothing.
func repeats(ev core.Event, t *protocol.Task) bool {
	if t != nil && t.Damaged != "" {
		return true
	}
	switch ev := ev.(type) {
	case nil, core.Settle: // the restart, and the resend times, send again
		return true
	case core.Command: // each Erase repeats the removal of the content (P52, erase removes content, not identity)
		return ev.Name == core.Erase
	case core.AskChild: // the child reports its end each time (P41, parent and child talk by messages)
		return t == nil || t.Terminal() || t.ProcessState == core.Error
	}
	return false
}

// ahead logs and counts a message that names a later run or attempt than the stored task. Either the message
// is forged, or the store was reset to an earlier state. The message returns to its queue until it is a dead
// letter (P8, every commit is conditional).
func (e *Engine) ahead(id string, ev core.Event) {
	e.Logger.Warn("a message is ahead of the stored task and is returned to the queue; if it comes for ever "+
		"it was forged, or the store was set back", About(id, ev)...)
	e.count("returned", "ahead of the document")
}
