package engine

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// refuseLarge handles a document that is too large for the store. It reports whether Decide must decide the
// job again. The second decision refuses a new order (P28, what is too large fails once). The document of a
// stored task is too large only if the store's limit was lowered.
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

// followUp returns a job that fails the steps whose requests are too large for a queue (P28).
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

// followedBefore repeats the effects of an earlier follow-up job. A redelivery of the original message must
// repeat these effects, because no queue contains the message of a follow-up job (P12a, who emits again).
func (e *Engine) followedBefore(ctx context.Context, j *Job, m *Message, at protocol.At) error {
	if j.Task == nil {
		return nil
	}
	for _, st := range j.Task.Steps {
		if st.Error == nil || st.Error.Code != codeInputTooLarge || st.Error.Attempt != st.Attempt {
			continue
		}
		// The reply was decided before, so apply only repeats its effects. Do stands for either operation,
		// because the cause of a reply does not contain the operation.
		d, err := e.apply(ctx, j, input{definition: j.Definition, order: j.order, hash: j.hash,
			event: core.Reply{Step: st.Name, Run: j.Task.Run, Attempt: st.Attempt, Operation: core.Do,
				Outcome: core.OutcomeFailed, Code: codeInputTooLarge}}, at, true)
		if err != nil {
			return err
		}
		m.Decision.Effects = append(m.Decision.Effects, d.Effects...)
	}
	return nil
}
