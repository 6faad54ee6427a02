package engine

import (
	"context"
	"fmt"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// shrink cuts the largest output out of a document that is too large (P28). A submission that is
// too large by itself is refused.
func (e *Engine) shrink(j *Job, err error) (again bool) {
	if m := j.largest(); m != nil {
		m.cut = true
		step := m.event.(core.Reply).Step
		e.count("output too large", step)
		e.Logger.Warn("an output does not fit into the document; its step fails", "task", j.ID, "step", step)
		return true
	}
	if j.loaded == nil && !j.tooLarge {
		j.tooLarge = true
		return true
	}
	e.Logger.Error("the document does not fit into the store", "task", j.ID, "error", err)
	j.fail(err)
	return false
}

// fitting is the event; a reply whose output does not fit counts as failed for good. Its redelivery is
// recognised by the failure that the step holds, so that it causes the same (P12, P28).
func (j *Job) fitting(ev core.Event) core.Event {
	m := j.current
	m.event = ev
	r, ok := ev.(core.Reply)
	if !ok || r.Outcome != core.OutcomeDone || j.Task == nil {
		return ev
	}
	if st := j.Task.Step(r.Step); st != nil {
		if st.Error != nil && st.Error.Code == codeOutputTooLarge && st.Error.Attempt == r.Attempt && st.State != core.Processed {
			m.cut = true
		}
	}
	if !m.cut {
		return ev
	}
	n := len(r.Output)
	r.Outcome, r.Output, r.Code = core.OutcomeFailed, nil, codeOutputTooLarge
	r.Message = fmt.Sprintf("the agent's output of %d bytes does not fit into the task's document of at most %d; let it store the data elsewhere and answer a reference", n, port.MaxDocument)
	return r
}

const codeOutputTooLarge = "output-too-large"

// largest finds the message with the largest output that is not cut yet; nil where there is none.
func (j *Job) largest() *Message {
	var found *Message
	size := 0
	for _, e := range j.Messages {
		m := e.Message
		if r, ok := m.event.(core.Reply); ok && !m.cut && r.Outcome == core.OutcomeDone && len(r.Output) > size {
			found, size = m, len(r.Output)
		}
	}
	return found
}

// tooLong is the failure of a step whose request no queue takes (P28).
type tooLong struct {
	Message
	reply core.Reply
}

func (l *tooLong) Decide(ctx context.Context, j *Job) ([]core.Effect, error) {
	_, err := j.Decide(ctx, l.reply)
	return nil, err
}

// followUp is the job that follows from requests which no queue takes (P28).
func (j *Job) followUp() *Job {
	next := &Job{ID: j.ID, parent: j}
	for _, r := range j.unsendable {
		next.add(&tooLong{reply: core.Reply{
			Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeFailed, Code: codeInputTooLarge,
			Message: fmt.Sprintf("the request to agent %q is larger than a message of %d bytes; pass a reference instead of the data", r.Agent, port.MaxMessage),
		}})
	}
	return next
}

const codeInputTooLarge = "input-too-large"

// followedBefore emits again what followed from requests that no queue took: the message that led to them
// is theirs too (P12a).
func (j *Job) followedBefore(ctx context.Context) error {
	if j.Task == nil {
		return nil
	}
	for _, st := range j.Task.Steps {
		if st.Error == nil || st.Error.Code != codeInputTooLarge || st.Error.Attempt != st.Attempt {
			continue
		}
		r := core.Reply{Step: st.Name, Run: j.Task.Run, Attempt: st.Attempt, Operation: core.Do, Outcome: core.OutcomeFailed, Code: codeInputTooLarge}
		if st.Undo {
			r.Operation = core.UndoOp
		}
		if _, err := j.decide(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
