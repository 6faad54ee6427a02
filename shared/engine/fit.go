package engine

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// refuseLarge is a submission whose first document is too large: it is decided again, and refused
// (P28). A task that is stored has room for what is decided on it, as long as its store keeps its limit.
func (e *Engine) refuseLarge(j *Job, err error) (again bool) {
	if j.loaded == nil && !j.tooLarge {
		j.tooLarge = true
		return true
	}
	e.Logger.Error(
		"the document does not fit into the store, although room was kept for it: was the store's limit "+
			"lowered? "+
			"Restore the limit, then redrive the dead letters", "order", j.ID, "error", err)
	j.fail(err)
	return false
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
		// It is decided already, and emits by its cause, which is that of both operations.
		r := core.Reply{Step: st.Name, Run: j.Task.Run, Attempt: st.Attempt, Operation: core.Do,
			Outcome: core.OutcomeFailed, Code: codeInputTooLarge}
		if _, err := j.decide(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
