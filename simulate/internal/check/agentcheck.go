package check

import (
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Begins records the request when the handler of an agent begins.
func Begins(iv *world.Invocation, d port.Delivery) {
	iv.Agency.Received = core.TimeOf(iv.P.Now())
	iv.Agency.Req, _ = d.Value.(*message.Request)
}

// reminds reports whether a request is a reminder (P37, a question has a time). The key of a reminder begins
// with the key of the waiting step.
func reminds(r *message.Request) bool {
	return strings.HasPrefix(r.Key, core.Key(r.OrderID, r.Run, strings.TrimSuffix(r.Step, "-ask"))+"/")
}

// Calls checks a call of the service before the agent makes it.
func Calls(iv *world.Invocation, c worker.Call) {
	w, a := iv.W, &iv.Agency
	w.Checks.Did("P25")
	now := core.TimeOf(iv.P.Now())
	r := a.Req
	switch {
	case r == nil || c.Key != r.Key || c.Attempt != r.Attempt || c.Operation != r.Operation ||
		c.Key != core.Key(r.OrderID, r.Run, r.Step) && !reminds(r):
		w.Violate("P3", "the call of %s, attempt %d, is not what the request asks for", c.Key, c.Attempt)
		return
	case now >= a.Stop():
		w.Violate("P25", "a call of %s begins at %s; it must not from %s on", c.Key, now, a.Stop())
	case core.TimeOf(c.Deadline) > a.Stop():
		w.Violate("P25", "a call of %s may last until %s; it must end by %s", c.Key, core.TimeOf(c.Deadline),
			a.Stop())
	case core.TimeOf(c.Deadline) > now.Add(max(r.Timeout, r.MaxDuration)):
		w.Violate("P6", "a call of %s may last until %s; the timeout is %s, the maxDuration %s", c.Key,
			core.TimeOf(c.Deadline), r.Timeout, r.MaxDuration)
	}
	w.Checks.Did("P3")
	w.Checks.Did("P6")
	if r.Grade != core.Plain && r.Attempt > 1 && w.ServiceOf(c, iv.P.Agent) != nil &&
		w.Conf(iv.P.Agent).Check {
		w.Checks.Did("P24")
		if !a.Checked || a.Happened {
			w.Violate("P24",
				"attempt %d of %s is called, and the service was not asked, or said that it has happened",
				r.Attempt, c.Key)
		}
	}
	if pivots(r) {
		callsPivot(iv, c)
	} else if r.Grade == core.Plain {
		w.Checks.Did("P31")
		w.Checks.Did("P32")
		if allowed := r.StopBy.Sub(r.ClaimedAt) - r.Timeout; allowed > 2*r.ClockSkew &&
			now.Add(r.Timeout) > r.StopBy {
			w.Violate("P32",
				"the plain service of %s is called at %s, when its timeout does not fit any more: it "+
					"would be in doubt because of time in a queue", c.Key, now)
		}
		want := worker.StateStarted
		if r.Operation == core.UndoOp {
			want = worker.StateUndoStarted
		}
		if !a.Entered || a.State != want || a.Called {
			w.Violate("P31", "the plain service of %s is called (%s), and its ledger does not say that "+
				"this handling began", c.Key, r.Operation)
		}
	}
	a.Called, a.Outcome = true, world.CallUnknown
}

// pivots reports whether a request is the do of a point of no return. For such a request the agent uses the
// ledger even if the grade is not plain (P22a, a proven refusal permits undo).
func pivots(r *message.Request) bool { return r.PointOfNoReturn && r.Operation == core.Do }

// callsPivot checks a call of a point of no return. The ledger must record the call before it begins.
func callsPivot(iv *world.Invocation, c worker.Call) {
	w, a := iv.W, &iv.Agency
	w.Checks.Did("P31")
	w.Checks.Did("P22a")
	again := a.Entered && a.State == worker.StateRepeated || a.First.State == worker.StateRepeated &&
		a.First.Attempt == c.Attempt
	if !(a.Entered && a.State == worker.StateStarted || again && a.Req.Grade != core.Plain) || a.Called {
		w.Violate("P31",
			"the point of no return %s is called, and its ledger does not say that this handling began",
			c.Key)
	}
	if n := w.ServiceOf(c, iv.P.Agent).Proven; c.Attempt <= n {
		w.Violate("P22a", "attempt %d of %s is called, and attempt %d was answered noEffect", c.Attempt,
			c.Key, n)
	}
}

// enterLedger returns the new state of a ledger entry when an agent begins to handle a request. It implements
// the transition table of the ledger (P31, a plain service needs a ledger). The result command is the number
// of the last Resolve that the entry includes.
func enterLedger(e port.LedgerEntry, r *message.Request) (state string, command int) {
	state, command = e.State, e.Command
	by := e.Attempt
	if f := r.Resolved; f != nil && f.Command > command {
		command, by, state = f.Command, r.Attempt, worker.StateNone
		if f.Fact == core.Happened {
			state = worker.StateDone
		}
	}
	if state == "" {
		state = worker.StateNone
	}
	switch {
	case r.Operation == core.UndoOp && (state == worker.StateNone || state == worker.StateFailed):
		state = worker.StateFenced
	case r.Operation == core.UndoOp && state == worker.StateDone:
		state = worker.StateUndoStarted
	case r.Operation == core.Do && (state == worker.StateNone || refusedLedger(state) && r.Attempt > by):
		state = worker.StateStarted
	case pivots(r) && r.Grade != core.Plain &&
		(state == worker.StateStarted || state == worker.StateRepeated) && r.Attempt >= by:
		state = worker.StateRepeated
	}
	return state, command
}

// refusedLedger reports whether a ledger state proves that the attempt had no effect.
func refusedLedger(state string) bool {
	return state == worker.StateFailed || state == worker.StateLater
}

// unasked returns the new state of a ledger entry if the agent could not call the service. The step is a
// point of no return (P22a).
func unasked(e port.LedgerEntry, r *message.Request) (state string, command int) {
	if f := r.Resolved; f != nil && f.Command > e.Command && f.Fact != core.Happened {
		return worker.StateLater, f.Command
	}
	if e.State == "" || e.State == worker.StateNone || refusedLedger(e.State) && r.Attempt > e.Attempt {
		return worker.StateLater, e.Command
	}
	return e.State, e.Command
}

// Moves checks a change of a ledger entry against the transition table.
func Moves(iv *world.Invocation, before, after port.LedgerEntry) {
	w, a := iv.W, &iv.Agency
	w.Checks.Did("P31")
	r := a.Req
	if r == nil {
		w.Violate("P31", "the ledger of %s was moved for no request", after.Key)
		return
	}
	want, command := before.State, before.Command
	mine := before.Attempt == r.Attempt
	later := worker.StateNone // state after no call, or after a call without effect
	if pivots(r) {
		later = worker.StateLater // P22a forbids the state none
	}
	switch {
	case !a.Entered && pivots(r) && after.State == worker.StateLater:
		want, command = unasked(before, r)
	case !a.Entered:
		want, command = enterLedger(before, r)
		if a.Happened { // a check of the service proved the effect
			want = settledLedger(before.State, r.Operation)
		}
	case pivots(r) && r.Grade != core.Plain && !a.Called && mine && before.State == worker.StateStarted &&
		after.State == worker.StateRepeated:
		// The agent's write was stored, but the ledger reported a conflict. Therefore the agent assumes that
		// another process wrote the entry.
		want = worker.StateRepeated
	case a.Called && a.Outcome == world.CallDone, a.Happened:
		want = settledLedger(before.State, r.Operation)
	case (!a.Called || a.Outcome != world.CallUnknown) && mine && r.Operation == core.UndoOp:
		want = worker.StateDone
	case pivots(r) && before.State != worker.StateStarted: // another call may still take effect
	case a.Called && a.Outcome == world.CallRefused && mine:
		want = worker.StateFailed
	case a.Called && a.Outcome == world.CallNotNow && mine, !a.Called && mine:
		want = later
	}
	if after.State != want || after.Command != command {
		w.Violate("P31",
			"the ledger of %s went from %q to %q (command %d) by attempt %d of %s; it must go to %q (%d)",
			after.Key, before.State, after.State, after.Command, r.Attempt, r.Operation, want, command)
	}
}

// settledLedger returns the new state of a ledger entry after a proof that the operation took effect.
func settledLedger(state string, op core.Operation) string {
	switch {
	case op == core.UndoOp && state == worker.StateUndoStarted:
		return worker.StateFenced
	case op == core.Do && (state == worker.StateStarted || state == worker.StateNone ||
		state == worker.StateRepeated || refusedLedger(state)):
		return worker.StateDone
	}
	return state
}

// Answers checks a reply before the agent sends it.
func Answers(iv *world.Invocation, r *message.Reply) {
	w, a := iv.W, &iv.Agency
	q := a.Req
	if iv.Dead || q == nil {
		return
	}
	if r.Outcome == message.Progress {
		w.Checks.Did("P43")
		if now := core.TimeOf(iv.P.Now()); now >= a.Stop() || r.Until > a.Stop() || q.MaxDuration == 0 ||
			r.OrderID != q.OrderID || r.Step != q.Step || r.Attempt != q.Attempt || r.Run != q.Run {
			w.Violate("P43", "attempt %d of %s reports at %s until %s; its stop is %s, its maxDuration %s",
				q.Attempt, q.Key, now, r.Until, a.Stop(), q.MaxDuration)
		}
		return
	}
	w.Checks.Did("P3")
	w.Checks.Did("P25")
	w.Checks.Did("P28")
	now := core.TimeOf(iv.P.Now())
	switch {
	case r.OrderID != q.OrderID || r.Run != q.Run || r.Step != q.Step || r.Attempt != q.Attempt ||
		r.Operation != q.Operation:
		w.Violate("P3", "the reply to attempt %d (%s) of step %s of %s is one of attempt %d (%s) of step %s",
			q.Attempt, q.Operation, q.Step, q.OrderID, r.Attempt, r.Operation, r.Step)
	case r.Waited != max(0, a.Received.Sub(q.ClaimedAt)):
		w.Violate("P32", "the reply of %s says that the request waited for %s, and it was %s", q.Key,
			r.Waited, max(0, a.Received.Sub(q.ClaimedAt)))
	case Late(r) && a.Called:
		w.Violate("P32", "attempt %d of %s was called, and the reply says that it came too late", q.Attempt, q.Key)
	case now >= a.Stop() && !Late(r):
		w.Violate("P25", "attempt %d of %s is answered at %s; the agent must be silent from %s on", q.Attempt,
			q.Key, now, a.Stop())
	case len(r.Output) > worker.MaxOutput:
		w.Violate("P28", "the output of %s has %d bytes and was sent", q.Key, len(r.Output))
	case q.Grade != core.Plain && r.Outcome == core.OutcomeDone && a.First.State != worker.StateDone &&
		!(a.Called && a.Outcome == world.CallDone) && !a.Happened:
		w.Violate("P24", "attempt %d of %s is answered done, and the service did not say so", q.Attempt,
			q.Key)
	}
	if r.NoEffect {
		proves(iv, r)
	}
	if q.Grade == core.Plain && !iv.Trouble {
		answersPlain(iv, r)
	}
}

// Late reports whether a reply says that the request came after its stop-by (P32, queue time is not a failure).
func Late(r *message.Reply) bool {
	return r.Outcome == core.OutcomeRetryLater && r.Error != nil && r.Error.Code == core.CodeQueue
}

// proves checks a reply that states noEffect (P22a). The ledger must hold a refusal of this attempt or a
// later attempt. The service must have no effect and no open call for the key.
func proves(iv *world.Invocation, r *message.Reply) {
	w, q := iv.W, iv.Agency.Req
	w.Checks.Did("P22a")
	e := w.Ledgers[iv.P.Agent].Entries[q.Key]
	s := w.ServiceOf(worker.Call{Key: q.Key, OrderID: q.OrderID, Run: q.Run, Step: q.Step, Grade: q.Grade},
		iv.P.Agent)
	switch {
	case !pivots(q) || !refusedLedger(e.State) || e.Attempt < r.Attempt:
		w.Violate("P22a", "attempt %d of %s is answered noEffect, and its ledger says %q of attempt %d",
			r.Attempt, q.Key, e.State, e.Attempt)
	case s.Applied > 0 || s.Pending > 0:
		w.Violate("P22a",
			"attempt %d of %s is answered noEffect, and it has had %d effects, and %d calls may land",
			r.Attempt, q.Key, s.Applied, s.Pending)
	}
	s.Proven = max(s.Proven, r.Attempt)
}

// answersPlain checks a reply about a plain service (P31). The result must come from the ledger, from a call
// by this handler, or from a check of the service.
func answersPlain(iv *world.Invocation, r *message.Reply) {
	w, a := iv.W, &iv.Agency
	e := w.Ledgers[iv.P.Agent].Entries[a.Req.Key]
	isUndo, done := r.Operation == core.UndoOp, r.Outcome == core.OutcomeDone
	switch {
	case a.Called && a.Outcome == world.CallDone && e.State == worker.StateStarted,
		a.Called && a.Outcome == world.CallDone && isUndo && e.State == worker.StateUndoStarted:
		w.Violate("P31", "%s was called and answered, and its ledger still says %q", a.Req.Key, e.State)
	case isUndo && done && !a.Called && e.State != worker.StateFenced:
		// This rule also holds if a check of the service reported the undo as done.
		w.Violate("P31", "the undo of %s is answered done, and its ledger says %q", a.Req.Key, e.State)
	case a.Called || a.Happened || a.Checked:
	case !isUndo && done && a.First.State != worker.StateDone && !(a.Entered && a.State == worker.StateDone):
		w.Violate("P31", "%s is answered done, and its ledger said %q", a.Req.Key, a.First.State)
	case !isUndo && !a.Entered && a.First.State == worker.StateStarted:
		w.Violate("P31", "%s is in doubt, and answered %s", a.Req.Key, r.Outcome)
	case r.Outcome == core.OutcomeFailed && !isUndo &&
		(a.First.State == "" || a.First.State == worker.StateNone):
		w.Violate("P31", "%s was never called, and is answered failed", a.Req.Key)
	}
}

// Ends checks a request that the agent has deleted. If the queue did not accept the reply, the agent must not
// delete the request (P13, delete after sending). An unreadable request must be in quarantine.
func Ends(iv *world.Invocation, deleted bool) {
	w, a := iv.W, &iv.Agency
	if iv.Dead || !deleted {
		return
	}
	w.Checks.Did("P13")
	switch {
	case a.Unsent && a.Req == nil:
		w.Violate("19", "an unreadable request was deleted, and is not in quarantine")
	case a.Unsent:
		w.Violate("P13", "the request of attempt %d of %s was deleted, and its reply was not taken",
			a.Req.Attempt, a.Req.Key)
	}
}
