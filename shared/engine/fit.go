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
	e.Logger.Error("the document does not fit into the store", "task", j.ID, "error", err)
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
			Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeFailed, Code: "input-too-large",
			Message: fmt.Sprintf("the request to agent %q is larger than a message of %d bytes; pass a reference instead of the data", r.Agent, port.MaxMessage),
		}})
	}
	return next
}
