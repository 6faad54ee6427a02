package protocol

import (
	"encoding/json"
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// advance does everything that the present state allows (P20, what happens next is computed): it claims the
// ready steps, or undoes the attempted ones, or enters the end. In Error it does nothing.
func (r *deciding) advance() {
	switch r.t.ProcessState {
	case core.Processing:
		r.advanceForward()
	case core.Compensating:
		r.advanceUndo()
	}
}

// advanceForward claims the ready steps, and the steps of the list again, which a Resubmit continues. It
// repeats this until no step becomes ready, because a step that is skipped, or that ends with its claim, can
// make other steps ready.
func (r *deciding) advanceForward(again ...int) {
	var room [8]int
	var claims []int
	for more := true; more; {
		if claims, more = r.readySteps(r.stillToClaim(room[:0], again)); more {
			continue
		}
		more = r.claim(claims)
		if r.err != nil || r.t.ProcessState != core.Processing {
			return
		}
	}
	for i := range r.t.Steps {
		if !r.t.Steps[i].Passed() {
			return
		}
	}
	r.enterProcessed()
}

// stillToClaim appends the steps that a Resubmit continues and that no earlier round has claimed or given up.
func (r *deciding) stillToClaim(claims, again []int) []int {
	for _, i := range again {
		if s := r.t.Steps[i].State; s == core.Pending || s == core.Failed {
			claims = append(claims, i)
		}
	}
	return claims
}

// readySteps appends the steps to claim, and reports whether a step was skipped or withdrawn.
func (r *deciding) readySteps(claims []int) (_ []int, skipped bool) {
	for i := range r.t.Steps {
		if s := &r.t.Steps[i]; r.t.Overtaken(r.def, i) && (s.HandedBack() || s.State == core.Failed) {
			r.withdraw(i)
			skipped = true
			continue
		}
		if !r.ready(i) {
			continue
		}
		wanted := !r.t.Overtaken(r.def, i) && r.conditionHolds(i)
		if r.err != nil || r.t.ProcessState != core.Processing {
			return nil, false
		}
		// the step's condition cannot be evaluated, and the task continues without the step (P42, orders can
		// go on after failures)
		if r.t.Steps[i].State != core.Pending {
			skipped = true
			continue
		}
		if !wanted {
			r.t.Steps[i].State, skipped = core.Skipped, true
			continue
		}
		claims = append(claims, i)
	}
	return claims, skipped
}

// ready reports whether the step was not attempted in this run and every step before it is done or skipped.
// Only Wake and Resubmit claim a step that was handed back.
func (r *deciding) ready(i int) bool {
	s := &r.t.Steps[i]
	if s.State != core.Pending || s.Attempted() {
		return false
	}
	for _, j := range r.def.Predecessors(i) {
		if !r.t.Steps[j].Passed() && !(r.def.AsksFor(j) == i && r.answeredEarly(i)) {
			return false
		}
	}
	return true
}

// conditionHolds evaluates a ready step's condition. If it cannot be evaluated, the step fails for good.
func (r *deciding) conditionHolds(i int) bool {
	if r.def.Steps[i].When == "" {
		return true
	}
	if !r.orderKnown() {
		return false
	}
	yes, err := r.def.Expr.When(i, r.environment(i, false))
	if err != nil {
		r.failExpression(i, "when", err)
	}
	return yes && err == nil
}

// failExpression fails a step without a claim. Nothing was attempted, so there is nothing to undo.
func (r *deciding) failExpression(i int, what string, err error) {
	r.recordFailure(i, "expression", what+": "+err.Error(), 0)
	r.failStep(i)
}

// failClaim fails a step without a claim, by the rule of the step itself (P50, a rule can fail the order) or
// because its input cannot be computed.
func (r *deciding) failClaim(i int, err error) {
	var rule *core.Fail
	if !errors.As(err, &rule) {
		r.failExpression(i, "input", err)
		return
	}
	r.recordFailure(i, rule.Code, rule.Message, 0)
	r.failStep(i)
}

func (r *deciding) orderKnown() bool {
	if r.order == nil {
		r.err = core.ErrOrderNeeded
	}
	return r.err == nil
}

// claim starts the next attempt of each step (P1, every claim has a new attempt). It sets the times and emits
// the request.
//
// It prepares all steps first, because a step that cannot be prepared may start the undo, and then no request
// of the other steps must be sent. Steps that end with their claim come last. claim reports whether a step
// ended, or failed and the task continues without it. In both cases it has claimed no other step.
func (r *deciding) claim(steps []int) (ended bool) {
	if r.bySupervisor() && len(steps) > 0 {
		panic("core: the Supervisor must not claim")
	}
	var room [8]prepared
	claims := room[:0]
	for _, i := range steps {
		p, err := r.kind(i).prepare(r, i)
		if err != nil {
			r.failClaim(i, err)
			return r.t.ProcessState == core.Processing // P42: the caller prepares the other steps again
		}
		ended = ended || p.atOnce
		claims = append(claims, p)
	}
	for n, i := range steps {
		if ended && !claims[n].atOnce {
			continue
		}
		s := &r.t.Steps[i]
		if r.t.Hops >= r.def.HopBudget { // P23, a hop budget bounds claims
			r.recordFailure(i, "hops",
				"the order used up its hop budget: a loop, or far more retries than planned", s.Attempt)
			release(s)
			r.enterError(core.Forward, i)
			return false
		}
		r.t.Hops++
		r.kind(i).start(r, i, claims[n])
		// an answer that arrived before the claim was a refusal
		if r.err != nil || r.t.ProcessState != core.Processing {
			return false
		}
	}
	return ended
}

// take writes a claim into the step: its next attempt, and the order and time of its first claim (P1; P4, a
// cause is logical; P7, undo covers every attempted step).
func (r *deciding) take(i int, state core.State, c core.Claim) {
	s := &r.t.Steps[i]
	switch {
	case s.First.Nth == 0:
		last := 0
		for n := range r.t.Steps {
			last = max(last, r.t.Steps[n].First.Nth)
		}
		s.First.Nth = last + 1
	case s.First.At == 0:
		s.First.At = s.Claim.At
	}
	endAttempt(s)
	c.Cause, c.At = r.cause, r.at.Now
	s.State, s.Claim, s.Wait = state, c, core.StepWait{}
	s.NoEffect = 0
	s.Attempt++
}

// input evaluates the input of the step's agent. The result depends only on values that are fixed while the
// claim stands, so that a redelivery computes the same bytes (P12, effects are emitted again).
func (r *deciding) input(i int, op core.Operation) (json.RawMessage, error) {
	d := &r.def.Steps[i]
	undo := op == core.UndoOp && d.Undo != nil && d.Undo.Input != nil
	switch given := r.t.Steps[i].Corrected; {
	case undo:
	case given != nil: // P51, a call can get another input
		return given.Input, nil
	case d.Input == nil:
		return nil, nil
	}
	if !r.orderKnown() {
		return nil, nil
	}
	if undo {
		return r.def.Expr.UndoInput(i, r.environment(i, true))
	}
	return r.def.Expr.Input(i, r.environment(i, false))
}

// environment returns the values that an expression may read: the order and the outputs of earlier steps.
func (r *deciding) environment(i int, own bool) core.Environment {
	env := core.Environment{OrderID: r.t.OrderID, Run: r.t.Run, Order: r.order,
		Outputs: make(map[string]json.RawMessage, len(r.def.Ancestors(i))+1)}
	for _, j := range r.def.Ancestors(i) {
		env.Show(&r.t.Steps[j])
	}
	if own {
		env.Show(&r.t.Steps[i])
	}
	if r.def.Tokens {
		env.Token = r.token
	}
	return env
}

// advanceUndo undoes every attempted step, in reverse order of the first claims (P7, P20).
func (r *deciding) advanceUndo() {
	for r.err == nil && r.t.ProcessState == core.Compensating {
		i := r.t.NextToUndo()
		if i < 0 {
			r.enterUndone()
			return
		}
		if !r.undoNext(i) {
			return
		}
	}
}

// undoNext advances the undo of step i. It reports whether the next step can be undone too.
func (r *deciding) undoNext(i int) bool {
	s := &r.t.Steps[i]
	if s.State == core.Compensating || s.State == core.UndoWait && r.at.Now < s.Wait.At {
		return false
	}
	return r.undoStep(i)
}

// undoStep begins the undo of a step, or the wait before it, by the rules of the step's grade. It reports
// whether the step is Compensated at once.
func (r *deciding) undoStep(i int) bool {
	s, d := &r.t.Steps[i], &r.def.Steps[i]
	if d.Each != nil {
		return r.undoChildren(i)
	}
	quiet := s.Quiet().Add(r.def.Agents[d.Agent].ClockSkew)
	switch {
	case d.Undo == nil:
		// a step without undo, or a point of no return that is proven to have had no effect, needs no
		// request; it only must not be in flight
		if s.State == core.Processing {
			return false
		}
		r.undone(i)
		return true
	case d.Grade == core.Fenced: // the fence stops a do that is still running
		r.claimUndo(i)
	case s.State == core.Processing:
		return false
	case r.at.Now <= quiet: // a call may still run, even after a reply (P21, an undo waits for quiet; H2)
		release(s)
		s.State = core.UndoWait
		r.scheduleWake(s, quiet+1)
		if r.notifies(core.StatusUndoing) {
			r.emit(r.t.Status(core.Status{Kind: core.StatusUndoing, At: r.at.Now, Step: s.Name,
				Until: s.Wait.At}))
		}
	default:
		r.claimUndo(i)
	}
	return false
}

// claimUndo claims an undo. If its input cannot be computed, the operator is needed, because a retry would
// fail in the same way.
func (r *deciding) claimUndo(i int) {
	if r.bySupervisor() {
		panic("core: the Supervisor must not claim")
	}
	s := &r.t.Steps[i]
	input, err := r.input(i, core.UndoOp)
	r.recordAttempt(i, core.OutcomeSuperseded, "")
	if err != nil {
		r.recordFailure(i, "expression", "undo input: "+err.Error(), 0)
		s.State = core.UndoWait
		release(s)
		r.enterError(r.t.Direction(), i)
		return
	}
	r.takeCall(i, core.UndoOp)
	r.emit(r.t.Request(r.def, i, input))
}
