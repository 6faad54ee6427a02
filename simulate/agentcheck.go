package simulate

import (
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// agency is what one handling of an agent has done with its request, for the rules of agents
// (P3, P6, P24, P25, P28, P31).
type agency struct {
	req      *message.Request // nil: it is unreadable
	received core.Time        // by the agent's own clock
	first    port.LedgerEntry // as the ledger had it when it was read first
	read     bool
	entered  bool   // its first move is stored
	state    string // that it moved the entry to
	called   bool
	outcome  outcome
	checked  bool // its service was asked
	happened bool // and said so
	unsent   bool // a reply, or a quarantine, was not taken
}

// outcome is what a call has shown to its caller.
type outcome uint8

const (
	inTheDark  outcome = iota // unknown
	happenedIt                // the answer came
	refusedIt                 // for good, and proven without effect
	laterIt                   // proven without effect, a repetition may succeed
)

// begins notes the request that a handling is about.
func (iv *invocation) begins(d port.Delivery) {
	iv.agency.received = core.TimeOf(iv.p.Now())
	iv.agency.req, _ = d.Value.(*message.Request)
}

// stop is when the agent has to fall silent, by its own clock (P25).
func (a *agency) stop() core.Time { return a.req.StopBy.Add(-a.req.ClockSkew) }

// reminds: the key of a reminder is of the step that is asked for (P37).
func reminds(r *message.Request) bool {
	return strings.HasPrefix(r.Key, core.Key(r.OrderID, r.Run, strings.TrimSuffix(r.Step, "-ask"))+"/")
}

// calls holds a call to its rules, before it is made.
func (iv *invocation) calls(c worker.Call) {
	w, a := iv.w, &iv.agency
	w.checks.did("P25")
	now := core.TimeOf(iv.p.Now())
	r := a.req
	switch {
	case r == nil || c.Key != r.Key || c.Attempt != r.Attempt || c.Operation != r.Operation ||
		c.Key != core.Key(r.OrderID, r.Run, r.Step) && !reminds(r):
		w.violate("P3", "the call of %s, attempt %d, is not what the request asks for", c.Key, c.Attempt)
		return
	case now >= a.stop():
		w.violate("P25", "a call of %s begins at %s; it must not from %s on", c.Key, now, a.stop())
	case core.TimeOf(c.Deadline) > a.stop():
		w.violate("P25", "a call of %s may last until %s; it must end by %s", c.Key, core.TimeOf(c.Deadline),
			a.stop())
	case core.TimeOf(c.Deadline) > now.Add(max(r.Timeout, r.MaxDuration)):
		w.violate("P6", "a call of %s may last until %s; the timeout is %s, the maxDuration %s", c.Key,
			core.TimeOf(c.Deadline), r.Timeout, r.MaxDuration)
	}
	w.checks.did("P3")
	w.checks.did("P6")
	if r.Grade != core.Plain && r.Attempt > 1 && w.service(c, iv.p.agent) != nil && w.conf(iv.p.agent).Check {
		w.checks.did("P24")
		if !a.checked || a.happened {
			w.violate("P24",
				"attempt %d of %s is called, and the service was not asked, or said that it has happened",
				r.Attempt, c.Key)
		}
	}
	if pivots(r) {
		iv.callsPivot(c)
	} else if r.Grade == core.Plain {
		w.checks.did("P31")
		w.checks.did("P32")
		if allowed := r.StopBy.Sub(r.ClaimedAt) - r.Timeout; allowed > 2*r.ClockSkew &&
			now.Add(r.Timeout) > r.StopBy {
			w.violate("P32",
				"the plain service of %s is called at %s, when its timeout does not fit any more: it "+
					"would be in doubt because of time in a queue", c.Key, now)
		}
		want := worker.StateStarted
		if r.Operation == core.UndoOp {
			want = worker.StateUndoStarted
		}
		if !a.entered || a.state != want || a.called {
			w.violate("P31",
				"the plain service of %s is called (%s), and its ledger does not say that "+
					"this handling began", c.Key, r.Operation)
		}
	}
	a.called, a.outcome = true, inTheDark
}

// pivots: the do of a point of no return, which goes by the ledger whatever its grade (P22a).
func pivots(r *message.Request) bool { return r.PointOfNoReturn && r.Operation == core.Do }

// callsPivot: the ledger says before each call that it begins, and whether it is the only one; no call
// begins that was proven to have had no effect.
func (iv *invocation) callsPivot(c worker.Call) {
	w, a := iv.w, &iv.agency
	w.checks.did("P31")
	w.checks.did("P22a")
	again := a.entered && a.state == worker.StateRepeated || a.first.State == worker.StateRepeated &&
		a.first.Attempt == c.Attempt
	if !(a.entered && a.state == worker.StateStarted || again && a.req.Grade != core.Plain) || a.called {
		w.violate("P31",
			"the point of no return %s is called, and its ledger does not say that this handling began",
			c.Key)
	}
	if n := w.service(c, iv.p.agent).proven; c.Attempt <= n {
		w.violate("P22a", "attempt %d of %s is called, and attempt %d was answered noEffect", c.Attempt,
			c.Key, n)
	}
}

// enterLedger is the ledger's table (P31): what a request makes of the entry that it finds.
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

// refusedLedger: the attempt that wrote it is proven to have had no effect.
func refusedLedger(state string) bool {
	return state == worker.StateFailed || state == worker.StateLater
}

// unasked is what a point of no return that could not be called is written down as (P22a).
func unasked(e port.LedgerEntry, r *message.Request) (state string, command int) {
	if f := r.Resolved; f != nil && f.Command > e.Command && f.Fact != core.Happened {
		return worker.StateLater, f.Command
	}
	if e.State == "" || e.State == worker.StateNone || refusedLedger(e.State) && r.Attempt > e.Attempt {
		return worker.StateLater, e.Command
	}
	return e.State, e.Command
}

// moves holds a move of the ledger to the table.
func (iv *invocation) moves(before, after port.LedgerEntry) {
	w, a := iv.w, &iv.agency
	w.checks.did("P31")
	r := a.req
	if r == nil {
		w.violate("P31", "the ledger of %s was moved for no request", after.Key)
		return
	}
	want, command := before.State, before.Command
	mine := before.Attempt == r.Attempt
	later := worker.StateNone // the one call is proven not to have been sent
	if pivots(r) {
		later = worker.StateLater // P22a: never back to none
	}
	switch {
	case !a.entered && pivots(r) && after.State == worker.StateLater:
		want, command = unasked(before, r)
	case !a.entered:
		want, command = enterLedger(before, r)
		if a.happened { // a check has settled what was in doubt
			want = settledLedger(before.State, r.Operation)
		}
	case pivots(r) && r.Grade != core.Plain && !a.called && mine && before.State == worker.StateStarted &&
		after.State == worker.StateRepeated:
		// its own write was reported as a conflict: it looks like another handling's
		want = worker.StateRepeated
	case a.called && a.outcome == happenedIt, a.happened:
		want = settledLedger(before.State, r.Operation)
	case (!a.called || a.outcome != inTheDark) && mine && r.Operation == core.UndoOp:
		want = worker.StateDone
	case pivots(r) && before.State != worker.StateStarted: // another call may still have its effect
	case a.called && a.outcome == refusedIt && mine:
		want = worker.StateFailed
	case a.called && a.outcome == laterIt && mine, !a.called && mine:
		want = later
	}
	if after.State != want || after.Command != command {
		w.violate("P31",
			"the ledger of %s went from %q to %q (command %d) by attempt %d of %s; it must go to %q (%d)",
			after.Key, before.State, after.State, after.Command, r.Attempt, r.Operation, want, command)
	}
}

// settledLedger: it is proven that the operation has happened.
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

// answers holds a reply to its rules, before it is sent.
func (iv *invocation) answers(r *message.Reply) {
	w, a := iv.w, &iv.agency
	q := a.req
	if iv.dead || q == nil {
		return
	}
	if r.Outcome == message.Progress {
		w.checks.did("P43")
		if now := core.TimeOf(iv.p.Now()); now >= a.stop() || r.Until > a.stop() || q.MaxDuration == 0 ||
			r.OrderID != q.OrderID || r.Step != q.Step || r.Attempt != q.Attempt || r.Run != q.Run {
			w.violate("P43", "attempt %d of %s reports at %s until %s; its stop is %s, its maxDuration %s",
				q.Attempt, q.Key, now, r.Until, a.stop(), q.MaxDuration)
		}
		return
	}
	w.checks.did("P3")
	w.checks.did("P25")
	w.checks.did("P28")
	now := core.TimeOf(iv.p.Now())
	switch {
	case r.OrderID != q.OrderID || r.Run != q.Run || r.Step != q.Step || r.Attempt != q.Attempt ||
		r.Operation != q.Operation:
		w.violate("P3", "the reply to attempt %d (%s) of step %s of %s is one of attempt %d (%s) of step %s",
			q.Attempt, q.Operation, q.Step, q.OrderID, r.Attempt, r.Operation, r.Step)
	case r.Waited != max(0, a.received.Sub(q.ClaimedAt)):
		w.violate("P32", "the reply of %s says that the request waited for %s, and it was %s", q.Key,
			r.Waited, max(0, a.received.Sub(q.ClaimedAt)))
	case now >= a.stop():
		w.violate("P25", "attempt %d of %s is answered at %s; the agent must be silent from %s on", q.Attempt,
			q.Key, now, a.stop())
	case len(r.Output) > worker.MaxOutput:
		w.violate("P28", "the output of %s has %d bytes and was sent", q.Key, len(r.Output))
	case q.Grade != core.Plain && r.Outcome == core.OutcomeDone && a.first.State != worker.StateDone &&
		!(a.called && a.outcome == happenedIt) && !a.happened:
		w.violate("P24", "attempt %d of %s is answered done, and the service did not say so", q.Attempt,
			q.Key)
	}
	if r.NoEffect {
		iv.proves(r)
	}
	if q.Grade == core.Plain && !iv.trouble {
		iv.answersPlain(r)
	}
}

// proves holds a noEffect to P22a: the ledger holds the refusal of this or a later attempt, and it is true.
func (iv *invocation) proves(r *message.Reply) {
	w, q := iv.w, iv.agency.req
	w.checks.did("P22a")
	e := w.ledgers[iv.p.agent].entries[q.Key]
	s := w.service(worker.Call{Key: q.Key, OrderID: q.OrderID, Run: q.Run, Step: q.Step, Grade: q.Grade},
		iv.p.agent)
	switch {
	case !pivots(q) || !refusedLedger(e.State) || e.Attempt < r.Attempt:
		w.violate("P22a", "attempt %d of %s is answered noEffect, and its ledger says %q of attempt %d",
			r.Attempt, q.Key, e.State, e.Attempt)
	case s.applied > 0 || s.pending > 0:
		w.violate("P22a",
			"attempt %d of %s is answered noEffect, and it has had %d effects, and %d calls may land",
			r.Attempt, q.Key, s.applied, s.pending)
	}
	s.proven = max(s.proven, r.Attempt)
}

// answersPlain: nothing is answered but what the ledger, the one call, or a check has shown (P31).
func (iv *invocation) answersPlain(r *message.Reply) {
	w, a := iv.w, &iv.agency
	e := w.ledgers[iv.p.agent].entries[a.req.Key]
	isUndo, done := r.Operation == core.UndoOp, r.Outcome == core.OutcomeDone
	switch {
	case a.called && a.outcome == happenedIt && e.State == worker.StateStarted,
		a.called && a.outcome == happenedIt && isUndo && e.State == worker.StateUndoStarted:
		w.violate("P31", "%s was called and answered, and its ledger still says %q", a.req.Key, e.State)
	case isUndo && done && !a.called && e.State != worker.StateFenced:
		// whatever a check has said: nothing was begun
		w.violate("P31", "the undo of %s is answered done, and its ledger says %q", a.req.Key, e.State)
	case a.called || a.happened || a.checked:
	case !isUndo && done && a.first.State != worker.StateDone && !(a.entered && a.state == worker.StateDone):
		w.violate("P31", "%s is answered done, and its ledger said %q", a.req.Key, a.first.State)
	case !isUndo && !a.entered && a.first.State == worker.StateStarted:
		w.violate("P31", "%s is in doubt, and answered %s", a.req.Key, r.Outcome)
	case r.Outcome == core.OutcomeFailed && !isUndo &&
		(a.first.State == "" || a.first.State == worker.StateNone):
		w.violate("P31", "%s was never called, and is answered failed", a.req.Key)
	}
}

// ends holds an agent to what it let go of: a request is deleted when it was answered, or when
// nothing may be answered any more (P13, 19).
func (iv *invocation) ends(deleted bool) {
	w, a := iv.w, &iv.agency
	if iv.dead || !deleted {
		return
	}
	w.checks.did("P13")
	switch {
	case a.unsent && a.req == nil:
		w.violate("19", "an unreadable request was deleted, and is not in quarantine")
	case a.unsent:
		w.violate("P13", "the request of attempt %d of %s was deleted, and its reply was not taken",
			a.req.Attempt, a.req.Key)
	}
}
