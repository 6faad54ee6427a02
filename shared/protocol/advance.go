package protocol

import (
	"encoding/json"
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// advance does everything that the state of the task allows (P20, what happens next is computed). A
// Processing task claims its ready steps. A Compensating task undoes its attempted steps. If nothing is left
// to do, the task ends. In every other state advance does nothing. In a sweep nothing is claimed (P16, the
// Supervisor hands back and gives up).
func (r *deciding) advance() {
	if r.t.ProcessState == core.Processing {
		r.advanceForward()
	}
	if r.err == nil && r.t.ProcessState == core.Compensating {
		r.advanceUndo()
	}
}

// advanceForward applies the policies of failed steps, continues the undo of steps after which the order goes on,
// and claims the ready steps. It does so again if a step was skipped or has ended at once.
func (r *deciding) advanceForward() {
	var room [8]int
	for more := true; more; {
		r.applyPolicies()
		if r.err != nil || r.t.ProcessState != core.Processing || r.bySupervisor() {
			return
		}
		claims, skipped := r.readySteps(room[:0])
		if r.err != nil {
			return
		}
		more = skipped || r.claim(claims)
	}
	for i := range r.t.Steps {
		if !r.t.Steps[i].Passed() {
			return
		}
	}
	r.enterProcessed()
}

// readySteps appends the ready steps to claims. It reports whether it skipped or ended a step, because other
// steps may then have become ready.
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
		if r.t.Steps[i].State != core.Pending { // conditionHolds has failed the step
			skipped = true
			continue
		}
		if !wanted {
			r.t.Steps[i].State = core.Skipped
			skipped = true
			continue
		}
		claims = append(claims, i)
	}
	return claims, skipped
}

// ready reports whether a step can be claimed. The wait of a step that was handed back must be over. All
// predecessors of another step must have passed. If early answers have decided the step, the step that sends the
// question need not have passed.
func (r *deciding) ready(i int) bool {
	s := &r.t.Steps[i]
	if s.State != core.Pending {
		return false
	}
	if s.Attempted() {
		return s.Wait.At <= r.at.Now
	}
	for _, j := range r.def.Predecessors(i) {
		if !r.t.Steps[j].Passed() && !(r.def.AsksFor(j) == i && r.answeredEarly(i)) {
			return false
		}
	}
	return true
}

// conditionHolds evaluates the condition of a step before its first claim.
func (r *deciding) conditionHolds(i int) bool {
	if r.def.Steps[i].When == "" || r.t.Steps[i].Attempted() {
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

func (r *deciding) failExpression(i int, what string, err error) {
	r.recordFailure(i, "expression", what+": "+err.Error(), 0)
	giveUp(&r.t.Steps[i])
}

// failClaim fails a step that cannot be claimed. Either the step is a rule that fails the order (P50, a rule
// can fail the order), or the step's input cannot be computed.
func (r *deciding) failClaim(i int, err error) {
	var rule *core.Fail
	if !errors.As(err, &rule) {
		r.failExpression(i, "input", err)
		return
	}
	r.recordFailure(i, rule.Code, rule.Message, 0)
	giveUp(&r.t.Steps[i])
}

func (r *deciding) orderKnown() bool {
	if r.order == nil {
		r.err = core.ErrOrderNeeded
	}
	return r.err == nil
}

// claim starts the next attempt of each step (P1, every claim has a new attempt).
//
// claim prepares all steps before it starts the first step. If a step cannot be prepared, the task may begin
// its undo, and must send no request of the other steps. If some steps end with their claim, claim starts
// only these steps. The result is true if the caller must look for ready steps again.
func (r *deciding) claim(steps []int) (ended bool) {
	var room [8]prepared
	claims := room[:0]
	for _, i := range steps {
		p, err := r.kind(i).prepare(r, i)
		if err != nil {
			r.failClaim(i, err)
			return r.t.ProcessState == core.Processing // true if the order goes on after the failure (P42)
		}
		ended = ended || p.atOnce
		claims = append(claims, p)
	}
	for n, i := range steps {
		if ended && !claims[n].atOnce {
			continue
		}
		s := &r.t.Steps[i]
		// If the service may forget the key, only a Resolve can continue the step (P18, resubmit uses a
		// remembered key).
		if r.t.KeyMayExpire(r.def, i, r.at.Now) {
			r.recordFailure(i, "key-forgotten", "it is in doubt, and was not asked again, because its service "+
				"may not know the idempotency key any more (keyRetention): find out at the service whether "+
				"it happened, and resolve it", s.Attempt)
			giveUp(s)
			r.enterError(core.Forward, i)
			return false
		}
		if r.t.Hops >= r.def.HopBudget { // P23, a hop budget bounds claims
			r.recordFailure(i, "hops",
				"the order used up its hop budget: a loop, or far more retries than planned", s.Attempt)
			release(s)
			r.enterError(core.Forward, i)
			return false
		}
		r.t.Hops++
		r.kind(i).start(r, i, claims[n])
		// An answer that came before the claim can end the step, and can stop the task.
		if r.err != nil || r.t.ProcessState != core.Processing {
			return false
		}
	}
	return ended
}

// take stores the next claim in the step (P1; P4, a cause is logical).
//
//   - The first claim sets First.Nth, the number of the step in the sequence of first claims. The undo uses
//     this sequence (P7, undo covers every attempted step).
//   - The second claim copies the time of the first claim to First.At, before Claim.At changes.
func (r *deciding) take(i int, state core.State, c Claim) {
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
	c.Cause = r.cause
	c.At = r.at.Now
	s.State = state
	s.Claim = c
	s.Wait = StepWait{}
	s.NoEffect = 0
	s.Attempt++
}

// input evaluates the input of a step. It reads only values that do not change until the next claim. A
// redelivery must compute the input again, byte for byte (P12, effects are emitted again).
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

// environment returns the values that an expression of step i may read: the order, and the outputs and
// failure codes of earlier steps. If own is true, the values include the output and failure code of step i.
func (r *deciding) environment(i int, own bool) core.Environment {
	env := core.Environment{
		OrderID: r.t.OrderID, Run: r.t.Run, Order: r.order,
		Outputs: make(map[string]json.RawMessage, len(r.def.Ancestors(i))+1),
	}
	for _, j := range r.def.Ancestors(i) {
		r.t.Steps[j].Show(&env)
	}
	if own {
		r.t.Steps[i].Show(&env)
	}
	if r.def.Tokens {
		env.Token = r.token
	}
	return env
}

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

func (r *deciding) undoNext(i int) bool {
	s := &r.t.Steps[i]
	if s.State == core.Compensating || s.State == core.UndoWait && r.at.Now < s.Wait.At {
		return false
	}
	return r.undoStep(i)
}

// undoStep begins the undo of a step, or the wait before the undo. While the do of the step is in flight,
// undoStep begins the undo only if the grade is fenced. The result is true if the step is already
// Compensated.
func (r *deciding) undoStep(i int) bool {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	if d.Each != nil {
		return r.undoChildren(i)
	}
	quiet := s.Quiet().Add(r.def.Agents[d.Agent].ClockSkew)
	switch {
	case d.Undo == nil:
		// A step without an undo operation needs no request, but its do must have ended.
		if s.State == core.Processing {
			return false
		}
		undone(&r.t.Steps[i])
		return true
	case d.Grade == core.Fenced: // the service refuses a do that comes after the undo
		r.claimUndo(i)
	case s.State == core.Processing:
		return false
	case r.at.Now <= quiet:
		// A call of the do may still take effect, even after a reply (P21, an undo waits for quiet).
		release(s)
		s.State = core.UndoWait
		r.scheduleWake(s, quiet+1)
		if r.notifies(core.StatusUndoing) {
			r.tell(r.t.Status(core.Status{
				Kind: core.StatusUndoing, At: r.at.Now, Step: s.Name,
				Until: s.Wait.At,
			}))
		}
	default:
		r.claimUndo(i)
	}
	return false
}

// claimUndo claims the undo of a step. If the input of the undo cannot be computed, the task enters Error,
// because a retry would fail too.
func (r *deciding) claimUndo(i int) {
	if r.bySupervisor() {
		r.claimLater(i)
		return
	}
	s := &r.t.Steps[i]
	input, err := r.input(i, core.UndoOp)
	r.recordAttempt(i, OutcomeSuperseded, "")
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
