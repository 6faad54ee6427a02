package core_test

import "github.com/stepkeeper/stepkeeper/shared/core"

// service is what a remote service, and for a plain one the agent's ledger (P31), knows of one
// idempotency key.
type service struct {
	key      string
	grade    core.Grade
	noEffect bool // "undo: none" (P22)

	applied int // how often an effect began
	net     int // effects that stand
	undone  bool

	ledger        string // of a plain service, and of a point of no return: "", started, repeated, done, failed, later, undo-started, fenced
	ledgerAttempt int
	ledgerCommand int
}

// call is a request that an agent took and whose effect has not landed.
type call struct {
	request core.SendRequest
	service *service
	first   bool // of a point of no return: the call that its ledger was started for (P22a)
}

// outcome is how a call ends.
type outcome int

const (
	succeeds   outcome = iota
	lost               // the effect is there, nobody hears of it
	refuses            // no effect
	busy               // no effect, later perhaps
	dirty              // the effect is there and the answer says that it is not
	dirtyLater         // the same, and asks to come again
	outcomes
)

// take is the agent that receives a request; it answers at once, or calls, or keeps silent.
func (w *world) take(r core.SendRequest) {
	if w.real >= r.StopBy-core.Time(r.ClockSkew) { // P25
		return
	}
	s := w.service(r)
	if r.PointOfNoReturn {
		w.takeNoReturn(s, r)
		return
	}
	if s.grade == core.Plain && !w.askLedger(s, r) {
		return
	}
	w.calls = append(w.calls, &call{request: r, service: s})
	if s.grade != core.Plain && w.chance("a copy came too", 4) {
		w.calls = append(w.calls, &call{request: r, service: s})
	}
}

// takeNoReturn is the agent of a point of no return: its ledger proves a refusal (P22a).
func (w *world) takeNoReturn(s *service, r core.SendRequest) {
	if f := r.Resolved; f != nil && f.Command > s.ledgerCommand {
		s.ledger, s.ledgerAttempt, s.ledgerCommand = "", r.Attempt, f.Command
		if f.Fact == core.Happened {
			s.ledger = "done"
		}
	}
	switch {
	case s.ledger == "done":
		w.reply(r, core.OutcomeDone)
	case (s.ledger == "failed" || s.ledger == "later") && r.Attempt <= s.ledgerAttempt:
		w.proves(r, s)
	case s.ledger == "" || s.ledger == "failed" || s.ledger == "later":
		if !w.well && w.chance("not called at all", 6) {
			s.ledger, s.ledgerAttempt = "later", r.Attempt
			w.proves(r, s)
			return
		}
		s.ledger, s.ledgerAttempt = "started", r.Attempt
		w.calls = append(w.calls, &call{request: r, service: s, first: true})
	case s.grade != core.Plain && r.Attempt >= s.ledgerAttempt: // the same key again, which proves nothing any more
		s.ledger, s.ledgerAttempt = "repeated", r.Attempt
		w.calls = append(w.calls, &call{request: r, service: s})
	}
}

// proves answers by the ledger that the key has had no effect.
func (w *world) proves(r core.SendRequest, s *service) {
	if w.real < r.StopBy {
		ev := reply(r.Step, r.Run, r.Attempt, r.Operation, map[bool]core.Outcome{true: core.OutcomeRetryLater, false: core.OutcomeFailed}[s.ledger == "later"])
		ev.NoEffect = true
		w.soup = append(w.soup, letter{ev: ev})
	}
}

func (w *world) service(r core.SendRequest) *service {
	s := w.services[r.Key]
	if s == nil {
		s = &service{key: r.Key, grade: r.Grade, noEffect: w.noEffect[r.Step]}
		w.services[r.Key] = s
	}
	return s
}

// askLedger reports whether the service has to be called (P31).
func (w *world) askLedger(s *service, r core.SendRequest) bool {
	if f := r.Resolved; f != nil && f.Command > s.ledgerCommand {
		s.ledger, s.ledgerCommand = "", f.Command
		if f.Fact == core.Happened {
			s.ledger = "done"
		}
	}
	if r.Operation == core.Do {
		switch {
		case s.ledger == "" || s.ledger == "failed" && r.Attempt > s.ledgerAttempt:
			s.ledger, s.ledgerAttempt = "started", r.Attempt
			return true
		case s.ledger == "done":
			w.reply(r, core.OutcomeDone)
		case s.ledger == "failed", s.ledger == "fenced":
			w.reply(r, core.OutcomeFailed)
		}
		return false
	}
	switch s.ledger {
	case "done":
		s.ledger = "undo-started"
		return true
	case "", "failed", "fenced":
		s.ledger = "fenced"
		w.reply(r, core.OutcomeDone)
	default:
		w.reply(r, core.OutcomeFailed)
	}
	return false
}

// land ends a call. Only a service with a fence may be hit after stopBy.
func (w *world) land(c *call, how outcome) {
	r, s := c.request, c.service
	if s.grade != core.Fenced && w.real >= r.StopBy {
		return
	}
	if r.Operation == core.UndoOp {
		w.landUndo(r, s, how)
		return
	}
	if s.grade == core.Fenced && s.undone {
		w.reply(r, core.OutcomeFailed)
		return
	}
	if how == refuses || how == busy {
		w.landNothing(c, how)
		return
	}
	if s.grade == core.Plain || s.applied == 0 {
		s.applied++
		if r.PointOfNoReturn && w.task.Run == r.Run && (w.task.ProcessState == core.Compensating || w.task.ProcessState == core.Compensated || w.task.ProcessState == core.Cancelled) {
			w.violate("P22a", "the effect of %s begins in a task that is %s", s.key, w.task.ProcessState)
		}
		if !s.noEffect {
			s.net++
		}
		if s.applied > 1 {
			w.violate("3", "key %s has %d effects", s.key, s.applied)
		}
		if s.undone {
			w.violate("11", "an effect of %s after its undo", s.key)
		}
	}
	switch {
	case how == succeeds:
		s.ledger = "done"
		w.reply(r, core.OutcomeDone)
	case s.grade == core.Plain: // in doubt: the ledger stays at started
	case how == dirty:
		w.reply(r, core.OutcomeFailed)
	case how == dirtyLater:
		w.reply(r, core.OutcomeRetryLater)
	}
	w.checkEffects()
}

func (w *world) landNothing(c *call, how outcome) {
	r, s := c.request, c.service
	if r.PointOfNoReturn {
		w.landRefusal(c, how)
		return
	}
	if how == busy {
		s.ledger = "" // the call is proven not to have been sent
		w.reply(r, core.OutcomeRetryLater)
		return
	}
	s.ledger, s.ledgerAttempt = "failed", r.Attempt
	w.reply(r, core.OutcomeFailed)
}

// landRefusal is the refusal of a point of no return: proven if it was the only call under the ledger's entry.
func (w *world) landRefusal(c *call, how outcome) {
	r, s := c.request, c.service
	if s.applied > 0 && s.grade != core.Plain {
		w.reply(r, core.OutcomeDone)
		return
	}
	if c.first && s.ledger == "started" && s.ledgerAttempt == r.Attempt {
		s.ledger = map[bool]string{true: "later", false: "failed"}[how == busy]
		w.proves(r, s)
		return
	}
	w.reply(r, map[bool]core.Outcome{true: core.OutcomeRetryLater, false: core.OutcomeFailed}[how == busy])
}

func (w *world) landUndo(r core.SendRequest, s *service, how outcome) {
	if how >= refuses {
		w.reply(r, map[bool]core.Outcome{true: core.OutcomeRetryLater, false: core.OutcomeFailed}[how == busy])
		return
	}
	w.checkUndoOrder(r)
	for i := range w.def.Steps {
		if d := &w.def.Steps[i]; d.PointOfNoReturn && w.net(d.Name, r.Run) > 0 {
			w.violate("P22a", "%s is undone while the effect of the point of no return %s stands", r.Step, d.Name)
		}
	}
	s.net, s.undone = 0, true
	if how == succeeds {
		s.ledger = "fenced"
		w.reply(r, core.OutcomeDone)
	}
}

// checkUndoOrder: what was first claimed later has no effect any more (invariant 9).
func (w *world) checkUndoOrder(r core.SendRequest) {
	if w.task.Run != r.Run || w.task.ProcessState != core.Compensating {
		return
	}
	first := w.task.Step(r.Step).First
	for _, s := range w.task.Steps {
		if other := w.services[core.Key(orderID, r.Run, s.Name)]; s.First > first && other != nil && other.net > 0 {
			w.violate("9", "%s is undone while %s stands", r.Step, s.Name)
		}
	}
}

// reply sends nothing after stopBy (P25).
func (w *world) reply(r core.SendRequest, what core.Outcome) {
	if w.real < r.StopBy {
		ev := reply(r.Step, r.Run, r.Attempt, r.Operation, what)
		w.soup = append(w.soup, letter{ev: ev})
	}
}

// net counts the effects of a step that stand, in all runs or in one.
func (w *world) net(step string, run int) (n int) {
	for r := 0; r <= w.task.Run; r++ {
		if s := w.services[core.Key(orderID, r, step)]; s != nil && (run < 0 || run == r) {
			n += s.net
		}
	}
	return n
}

// checkEffects holds what stands against the end that the task claims (invariants 7 and 8).
func (w *world) checkEffects() {
	if w.task == nil {
		return
	}
	for _, s := range w.task.Steps {
		all, now := w.net(s.Name, -1), w.net(s.Name, w.task.Run)
		switch w.task.ProcessState {
		case core.Processed:
			want := 1
			if s.State == core.Skipped || w.noEffect[s.Name] {
				want = 0
			}
			if all != want || now != want {
				w.violate("7", "Processed, and step %s has %d effects, want %d", s.Name, all, want)
			}
		case core.Compensated, core.Cancelled:
			if all != 0 {
				w.violate("8", "%s, and %d effects of step %s stand", w.task.ProcessState, all, s.Name)
			}
		}
	}
}
