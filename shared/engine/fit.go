package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

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

// unsendable returns the reply that stands for a request which no queue takes. It returns false if the request
// may be sent again.
func unsendable(r core.SendRequest, err error) (core.Reply, bool) {
	reply := core.Reply{Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation}
	switch {
	case errors.Is(err, port.ErrTooLarge):
		reply.Outcome = core.OutcomeFailed
		reply.Code = codeInputTooLarge
		reply.Message = fmt.Sprintf("the request to agent %q is larger than a message of %d bytes; pass a "+
			"reference instead of the data", r.Agent, port.MaxMessage)
	case errors.Is(err, port.ErrNotFound):
		reply.Outcome = core.OutcomeRetryLater
		reply.Code = core.CodeNoAgent
		reply.Message = fmt.Sprintf("agent %q is not deployed, so the request was not sent; deploy the agent, "+
			"or correct its name where the agents are configured", r.Agent)
	default:
		return core.Reply{}, false
	}
	return reply, true
}

// followUps returns the messages of a follow-up job. They decide the replies which stand for requests that no queue
// takes, and record the numbered statuses that could not be sent (P12b, a status delays nothing else).
func (j *Job) followUps() (messages []*Message) {
	for _, r := range j.unsendable {
		messages = append(messages, &Message{OrderID: j.ID, Event: r})
	}
	if len(j.unsent) == 0 {
		return messages
	}
	first := map[string]int{}
	for _, s := range j.unsent {
		if n, known := first[s.ReplyTo]; s.Status.Seq > 0 && (!known || s.Status.Seq < n) {
			first[s.ReplyTo] = s.Status.Seq
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		messages = append(messages,
			&Message{OrderID: j.ID, Event: core.Unsent{ReplyTo: name, First: first[name], Reason: j.reason}})
	}
	return messages
}

const codeInputTooLarge = "input-too-large"

// followedUp returns the events of the follow-up jobs that the task has already decided.
func followedUp(t *protocol.Task) (events []core.Event) {
	if t == nil {
		return nil
	}
	for _, st := range t.Steps {
		if st.Error == nil || st.Error.Code != codeInputTooLarge || st.Error.Attempt != st.Attempt {
			continue
		}
		// Do stands for either operation, because the cause of a reply does not contain the operation.
		events = append(events, core.Reply{
			Step: st.Name, Run: t.Run, Attempt: st.Attempt, Operation: core.Do,
			Outcome: core.OutcomeFailed, Code: codeInputTooLarge,
		})
	}
	return events
}
