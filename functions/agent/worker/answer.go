package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// answer sends the reply and then acknowledges the request. After stopBy, or after errSilent, it sends no
// reply. If it cannot send the reply, the request returns to its queue.
func (h *handling) answer(ctx context.Context) Verdict {
	w := h.w
	left := h.stop().Sub(w.Clock.Now())
	switch {
	case left <= 0: // agents are silent after stopBy (P25)
		w.counters.late.Add(1)
		w.Log.Info("a request was finished after its stopBy; not answered", about(w.Agent, h.req), "done",
			h.err == nil)
		return ack
	case errors.Is(h.err, errSilent):
		w.counters.doubt.Add(1)
		w.Log.Info("an operation is in doubt; neither called nor answered", about(w.Agent, h.req))
		return ack
	}
	reply := h.reply()
	if !h.sends(ctx, reply, min(w.SendTimeout, left)) {
		return w.nack(0)
	}
	switch reply.Outcome {
	case message.Progress:
		w.counters.deferred.Add(1)
	case core.OutcomeDone:
		w.counters.done.Add(1)
	case core.OutcomeFailed:
		w.counters.failed.Add(1)
		w.Log.Info("a request failed for good", about(w.Agent, h.req), "code", reply.Error.Code)
	default:
		w.counters.later.Add(1)
		w.Log.Info("a request failed, to be tried later", about(w.Agent, h.req), "code", reply.Error.Code)
	}
	return ack
}

func (h *handling) sends(ctx context.Context, reply *message.Reply, within time.Duration) bool {
	err := h.w.send(ctx, h.replies, reply, h.left(within))
	if err != nil {
		h.w.Log.Warn("a reply could not be sent; the request is returned to the queue",
			about(h.w.Agent, h.req), "error", err)
	}
	return err == nil
}

// tooLate handles a request that comes after its stopBy. The worker does not call the service. It replies only
// that the request came too late, so that the time in the queue does not count as a failure (P25, agents are
// silent after stopBy; P32, queue time is not a failure). A request that was received before may have been
// called, so it gets no reply.
func (h *handling) tooLate(ctx context.Context) Verdict {
	if h.times > 1 {
		h.w.counters.late.Add(1)
		h.w.Log.Info("a request came again after its stopBy; dropped", about(h.w.Agent, h.req))
		return ack
	}
	h.err = &tried{Failure: Failure{
		Code: core.CodeQueue,
		Err:  fmt.Errorf("the request waited in the queue of agent %q past its stopBy", h.w.Agent),
	}}
	if !h.sends(ctx, h.reply(), h.w.SendTimeout) {
		return h.w.nack(0)
	}
	h.w.counters.late.Add(1)
	h.w.Log.Info("a request came after its stopBy; not called", about(h.w.Agent, h.req))
	return ack
}

// reply returns the reply to the request, or the report that it comes later. It repeats the identity of the request
// (P3, a reply names request and sender), and states how long the request waited in its queue (P32, queue time is not a
// failure).
func (h *handling) reply() *message.Reply {
	if d, deferred := h.err.(*deferral); deferred { //nolint:errorlint // the tries store it unwrapped
		return h.report(d)
	}
	reply := h.replyTo(core.OutcomeDone)
	if h.req.ClaimedAt != 0 {
		reply.Waited = max(0, core.TimeOf(h.received).Sub(h.req.ClaimedAt))
	}
	f := h.failure()
	if f == nil {
		reply.Output = h.output
		return reply
	}
	f.describe(reply)
	reply.NoEffect = h.pivot == pivotNoEffect
	return reply
}

// replyTo returns a reply with the identity of the request (P3).
func (h *handling) replyTo(outcome core.Outcome) *message.Reply {
	r := h.req
	return &message.Reply{
		Schema: message.Schema, OrderID: r.OrderID, Run: r.Run, Step: r.Step, Agent: h.w.Agent, Attempt: r.Attempt,
		Operation: r.Operation, Outcome: outcome,
	}
}

// describe sets the outcome of a reply, and its error.
func (f *Failure) describe(reply *message.Reply) {
	reply.Outcome = core.OutcomeFailed
	reply.Error = &message.ReplyError{Code: f.Code, Message: core.TrimMessage(f.Error())}
	if !f.Permanent {
		reply.Outcome = core.OutcomeRetryLater
		reply.RetryAfter = core.DurationOf(f.RetryAfter)
	}
}
