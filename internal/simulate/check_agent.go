package simulate

import (
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// begins records the request when the handler of an agent begins.
func begins(iv *Invocation, d port.Delivery) {
	iv.Agency.Received = core.TimeOf(iv.P.Now())
	iv.Agency.Req, _ = d.Value.(*message.Request)
}

// reminds reports whether a request is a reminder (P59, a step can have reminders). The key of a reminder begins with
// the key of its step.
func reminds(r *message.Request) bool {
	return r.Attempt == 0 && strings.HasPrefix(r.Key, core.Key(r.OrderID, r.Run, r.Step)+"/")
}

// checkCall checks a call of the service before the agent makes it.
func checkCall(iv *Invocation, c worker.Call) {
	w := iv.W
	a := &iv.Agency
	now := core.TimeOf(iv.P.Now())
	r := a.Req
	alike := r != nil && c.Key == r.Key && c.Attempt == r.Attempt && c.Operation == r.Operation &&
		(c.Key == core.Key(r.OrderID, r.Run, r.Step) || reminds(r))
	w.never(!alike, "P3", "the call of %s, attempt %d, is not what the request asks for", c.Key, c.Attempt)
	if !alike {
		return
	}
	end := core.TimeOf(c.Deadline)
	w.never(now >= a.Stop(), "P25", "a call of %s begins at %s; it must not from %s on", c.Key, now, a.Stop())
	w.never(end > a.Stop(), "P25", "a call of %s may last until %s; it must end by %s", c.Key, end, a.Stop())
	w.never(end > now.Add(max(r.Timeout, r.MaxDuration)), "P6",
		"a call of %s may last until %s; the timeout is %s, the maxDuration %s", c.Key, end, r.Timeout, r.MaxDuration)
	if r.Grade != core.Plain && r.Attempt > 1 && w.ServiceOf(c, iv.P.Agent) != nil && w.Conf(iv.P.Agent).Check {
		w.never(!a.Checked || a.Happened, "P24",
			"attempt %d of %s is called, and the service was not asked, or said that it has happened", r.Attempt, c.Key)
	}
	switch {
	case pivots(r):
		n := w.ServiceOf(c, iv.P.Agent).Proven
		w.never(c.Attempt <= n, "P22a",
			"attempt %d of %s is called, and attempt %d was answered noEffect", c.Attempt, c.Key, n)
	case r.Grade == core.Plain:
		allowed := r.StopBy.Sub(r.ClaimedAt) - r.Timeout
		w.never(allowed > 2*r.ClockSkew && now.Add(r.Timeout) > r.StopBy, "P32",
			"the plain service of %s is called at %s, when its timeout does not fit any more: it would be in doubt "+
				"because of time in a queue", c.Key, now)
	}
	a.Called = true
}

// pivots reports whether a request is the do of a point of no return. For such a request the agent uses the
// ledger even if the grade is not plain (P22a, a proven refusal permits undo).
func pivots(r *message.Request) bool { return r.PointOfNoReturn && r.Operation == core.Do }

// answers checks a reply before the agent sends it.
func answers(iv *Invocation, r *message.Reply) {
	w := iv.W
	a := &iv.Agency
	q := a.Req
	if iv.Dead || q == nil {
		return
	}
	now := core.TimeOf(iv.P.Now())
	same := r.OrderID == q.OrderID && r.Run == q.Run && r.Step == q.Step && r.Attempt == q.Attempt
	if r.Outcome == message.Progress {
		w.never(!same || now >= a.Stop() || r.Until > a.Stop() || q.MaxDuration == 0, "P43",
			"attempt %d of %s reports at %s until %s; its stop is %s, its maxDuration %s", q.Attempt, q.Key, now, r.Until,
			a.Stop(), q.MaxDuration)
		return
	}
	w.never(!same || r.Operation != q.Operation, "P3",
		"the reply to attempt %d (%s) of step %s of %s is one of attempt %d (%s) of step %s", q.Attempt, q.Operation,
		q.Step, q.OrderID, r.Attempt, r.Operation, r.Step)
	waited := max(0, a.Received.Sub(q.ClaimedAt))
	w.never(r.Waited != waited, "P32",
		"the reply of %s says that the request waited for %s, and it was %s", q.Key, r.Waited, waited)
	w.never(late(r) && a.Called,
		"P32", "attempt %d of %s was called, and the reply says that it came too late", q.Attempt, q.Key)
	w.never(now >= a.Stop() && !late(r), "P25",
		"attempt %d of %s is answered at %s; the agent must be silent from %s on", q.Attempt, q.Key, now, a.Stop())
	w.never(len(r.Output) > worker.MaxOutput,
		"P28", "the output of %s has %d bytes and was sent", q.Key, len(r.Output))
	w.never(r.Outcome == core.OutcomeDone && !happened(iv), "P24",
		"attempt %d of %s (%s) is answered done, and the service's books do not say so", q.Attempt, q.Key, q.Operation)
	if r.NoEffect {
		proves(iv, r)
	}
}

// happened reports whether the services' books say that the operation has taken effect (P24, an undo needs no
// output). A fact of the operator counts as well.
func happened(iv *Invocation) bool {
	q := iv.Agency.Req
	if f := q.Resolved; f != nil && f.Fact != core.NotHappened {
		return true
	}
	s := iv.W.ServiceOf(callOf(q), iv.P.Agent)
	if q.Operation == core.UndoOp {
		return s.Net == 0
	}
	return s.Applied > 0
}

func callOf(q *message.Request) worker.Call {
	return worker.Call{Key: q.Key, OrderID: q.OrderID, Run: q.Run, Step: q.Step, Grade: q.Grade}
}

// late reports whether a reply says that the request came after its stop-by (P32, queue time is not a failure).
func late(r *message.Reply) bool {
	return r.Outcome == core.OutcomeRetryLater && r.Error != nil && r.Error.Code == core.CodeQueue
}

// proves checks a reply that states noEffect (P22a). The service must have no effect and no open call for the
// key. The reply of an earlier attempt proves nothing, because a later one may have called meanwhile.
func proves(iv *Invocation, r *message.Reply) {
	w := iv.W
	q := iv.Agency.Req
	if t := w.Store.Task(q.OrderID); t != nil {
		s := t.Step(q.Step)
		if s != nil && s.Attempt > r.Attempt {
			return
		}
	}
	s := w.ServiceOf(callOf(q), iv.P.Agent)
	w.never(!pivots(q),
		"P22a", "attempt %d of %s is answered noEffect, and is no point of no return", r.Attempt, q.Key)
	w.never(s.Applied > 0 || s.Pending > 0, "P22a",
		"attempt %d of %s is answered noEffect, and it has had %d effects, and %d calls may land", r.Attempt, q.Key,
		s.Applied, s.Pending)
	s.Proven = max(s.Proven, r.Attempt)
}

// ends checks a request that the agent has deleted. If the queue did not accept the reply, the agent must not
// delete the request (P13, delete after sending). An unreadable request must be in quarantine.
func ends(iv *Invocation, deleted bool) {
	w := iv.W
	a := &iv.Agency
	if iv.Dead || !deleted {
		return
	}
	if a.Req == nil {
		w.never(a.Unsent, "19", "an unreadable request was deleted, and is not in quarantine")
		return
	}
	w.never(a.Unsent,
		"P13", "the request of attempt %d of %s was deleted, and its reply was not taken", a.Req.Attempt, a.Req.Key)
}
