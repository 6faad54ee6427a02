package engine

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// refuseLarge handles a document that is too large. A submission is decided again, and refused (P28). A task
// that is stored has room for what is decided on it, as long as its store keeps its limit.
func (e *Engine) refuseLarge(j *Job, err error) (again bool) {
	if j.loaded == nil && j.status != tooLarge {
		j.status = tooLarge
		return true
	}
	e.Logger.Error(
		"the document does not fit into the store, although room was kept for it: was the store's limit "+
			"lowered? Restore the limit, then redrive the dead letters", "order", j.ID, "error", err)
	j.Fail(err)
	return false
}

// followUp returns the job that follows from requests which no queue takes: their steps fail (P28).
func (j *Job) followUp() *Job {
	next := &Job{ID: j.ID, parent: j}
	for _, r := range j.unsendable {
		next.Messages = append(next.Messages, &Message{Event: core.Reply{
			Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeFailed,
			Code: codeInputTooLarge,
			Message: fmt.Sprintf(
				"the request to agent %q is larger than a message of %d bytes; pass a reference instead "+
					"of the data", r.Agent, port.MaxMessage),
		}})
	}
	return next
}

const codeInputTooLarge = "input-too-large"

// followedBefore sends again what followed from requests that no queue took: the message that led to them
// led to that too (P12a).
func (e *Engine) followedBefore(ctx context.Context, j *Job, m *Message, at protocol.At) error {
	if j.Task == nil {
		return nil
	}
	for _, st := range j.Task.Steps {
		if st.Error == nil || st.Error.Code != codeInputTooLarge || st.Error.Attempt != st.Attempt {
			continue
		}
		// It is decided already, and emits by its cause, which is that of both operations.
		d, err := e.apply(ctx, j, input{definition: j.Definition, order: j.order, event: core.Reply{
			Step: st.Name, Run: j.Task.Run, Attempt: st.Attempt, Operation: core.Do,
			Outcome: core.OutcomeFailed, Code: codeInputTooLarge}}, at, true)
		if err != nil {
			return err
		}
		m.Decision.Effects = append(m.Decision.Effects, d.Effects...)
	}
	return nil
}
