package protocol

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// advance does everything that the state of the task allows (P20, what happens next is computed). A
// Processing task claims its ready steps. A Compensating task undoes its attempted steps. If nothing is left
// to do, the task ends. In every other state advance does nothing. In a sweep nothing is claimed (P16, the
// Supervisor hands back and gives up).
func (r *decision) advance() {
	switch {
	case r.t.ProcessState == core.Processing:
		r.advanceForward()
	case modeOf(r.t) == errForward && !r.bySupervisor():
		r.decideAny()
	}
	r.advanceUndo()
}

// advanceForward goes on with the failed and the waiting steps, and claims the ready steps. It does so again if a
// step was skipped or has ended at once.
func (r *decision) advanceForward() {
	var room [8]int
	for more := true; more; {
		if !r.whileForward(step.afterFailure) {
			return
		}
		decided := r.decideAny()
		if r.bySupervisor() && decided {
			continue
		}
		if r.bySupervisor() || !r.whileForward(step.afterWait) {
			return
		}
		decided = r.decideAny() || decided
		claims, again := r.readySteps(room[:0])
		if r.err != nil {
			return
		}
		more = decided || again || r.claimAll(claims)
	}
	for i := range r.t.Steps {
		if s := &r.t.Steps[i]; !s.Passed() || s.State == core.Settling {
			return
		}
	}
	r.enterProcessed()
}

// whileForward calls f for each step. It ends early, with false, if the task goes forward no more.
func (r *decision) whileForward(f func(step)) bool {
	for i := range r.t.Steps {
		f(r.step(i))
		if r.err != nil || r.t.ProcessState != core.Processing {
			return false
		}
	}
	return true
}

// afterFailure applies the policy of a Failed step (P19, policy decides about a failed step), and begins or continues
// the undo of a step that is undone alone (P42, orders can go on after failures; P53, a step can be withdrawn).
func (s step) afterFailure() {
	if s.State == core.Failed {
		s.applyPolicy()
	}
	waits := s.State == core.UndoWait && s.Wait.At <= s.at.Now
	switch {
	case s.t.ProcessState != core.Processing || !waits && !s.awaitsUndo():
	case !s.bySupervisor():
		s.undoStep()
	case waits || s.State != core.Processing || s.d.Grade == core.Fenced && s.d.Undo != nil:
		s.claimLater() // even a step without undo lets others begin
	}
}

func (s step) afterWait() {
	if (s.State == core.Waiting || s.State == core.Settling) && !s.awaitsUndo() {
		s.kind().goOn(s)
	}
}

// readySteps appends the ready steps to claims. It reports whether it must be called again, because a step was
// skipped or has failed.
func (r *decision) readySteps(claims []int) (_ []int, again bool) {
	for i := range r.t.Steps {
		s := r.step(i)
		if !s.ready() {
			again = again || s.State == core.Failed && !s.staysFailed()
			continue
		}
		wanted := s.conditionHolds()
		switch {
		case s.State == core.Failed: // by its condition
			again = true
		case !wanted:
			s.State = core.Skipped
			again = true
		default:
			claims = append(claims, i)
		}
	}
	return claims, again
}

// ready reports whether a step can be claimed. The wait of a step that was handed back must be over. All
// predecessors of another step must have passed. If early answers have decided the step, the step that sends the
// question need not have passed. A member begins when its step has begun.
func (s step) ready() bool {
	if s.State != core.Pending || s.Withdrawn != 0 {
		return false
	}
	if s.Attempted() {
		return s.Wait.At <= s.at.Now
	}
	if n := s.group(); n >= 0 && s.t.Steps[n].State != core.Waiting {
		return false
	}
	for _, j := range s.def.Predecessors(s.i) {
		if !s.t.Steps[j].Passed() && !(s.def.Serves(j) == s.i && s.answeredEarly()) {
			return false
		}
	}
	return true
}

// conditionHolds evaluates the condition of a step before its first claim.
func (s step) conditionHolds() bool {
	if s.d.When == "" || s.Attempted() {
		return true
	}
	if !s.orderKnown() {
		return false
	}
	yes, err := s.def.Expr.Holds(core.PartWhen, s.i, s.environment(false))
	if err != nil {
		s.fail("expression", "when: "+err.Error(), 0)
	}
	return yes && err == nil
}

// fail ends the step's attempt, or fails a step that cannot be claimed.
func (s step) fail(code, message string, attempt int) {
	s.recordFailure(code, message, attempt)
	s.giveUp()
}

// failClaim fails a step that cannot be claimed. Either the step is a rule that fails the order (P50, a rule
// can fail the order), or the step's input cannot be computed.
func (s step) failClaim(err error) {
	var rule *core.Fail
	if !errors.As(err, &rule) {
		var late *noDeadline
		if !errors.As(err, &late) {
			err = fmt.Errorf("input: %w", err)
		}
		s.fail("expression", err.Error(), 0)
		return
	}
	s.fail(rule.Code, rule.Message, 0)
}

func (r *decision) orderKnown() bool {
	if r.order == nil {
		r.err = core.ErrOrderNeeded
	}
	return r.err == nil
}

// claimAll claims the steps (P1, every claim has a new attempt).
//
// claimAll prepares all steps before it starts the first step. If a step cannot be prepared, the task may begin
// its undo, and must send no request of the other steps. If some steps end with their claim, claimAll starts
// only these steps. The result is true if the caller must look for ready steps again.
func (r *decision) claimAll(steps []int) (ended bool) {
	var room [8]prepared
	claims := room[:0]
	for _, i := range steps {
		s := r.step(i)
		p, err := s.kind().prepare(s)
		if err == nil && r.err == nil && s.First.Nth == 0 {
			p.lateAt, err = s.readDeadline(r.at.Now)
		}
		if r.err != nil {
			return false
		}
		if err != nil {
			s.failClaim(err)
			return r.t.ProcessState == core.Processing // true if the order goes on after the failure (P42)
		}
		ended = ended || p.atOnce
		claims = append(claims, p)
	}
	for n, i := range steps {
		if ended && !claims[n].atOnce {
			continue
		}
		s := r.step(i)
		s.claim(claims[n])
		if r.err != nil || r.t.ProcessState != core.Processing {
			return false
		}
		ended = ended || !s.InFlight() && s.State != core.Waiting
	}
	return ended
}

// claim starts the next forward attempt, or stops the task if none is allowed.
func (s step) claim(p prepared) {
	switch {
	case s.t.KeyMayExpire(s.def, s.i, s.at.Now): // only a Resolve continues it (P18, resubmit uses a remembered key)
		s.fail("key-forgotten", "it is in doubt, and was not asked again, because its service "+
			"may not know the idempotency key any more (keyRetention): find out at the service whether "+
			"it happened, and resolve it", s.Attempt)
		s.enterError()
	case s.t.Hops >= s.def.HopBudget: // P23, a hop budget bounds claims
		s.recordFailure("hops", "the order used up its hop budget: a loop, or far more retries than planned",
			s.Attempt)
		s.release()
		s.enterError()
	default:
		s.t.Hops++
		s.kind().start(s, p)
		if p.lateAt != 0 {
			s.Late = Late{At: p.lateAt, Seq: s.Late.Seq + 1}
		}
		s.scheduleReminder()
		s.afterWait()
	}
}

// take stores the next claim in the step (P1; P4, a cause is logical).
//
//   - The first claim sets First.Nth, the number of the step in the sequence of first claims. The undo uses
//     this sequence (P7, undo covers every attempted step).
//   - The second claim copies the time of the first claim to First.At, before Claim.At changes.
func (s step) take(state core.State, c Claim) {
	switch {
	case s.First.Nth == 0:
		s.setLate(s.d, s.at.Now)
		last := 0
		for n := range s.t.Steps {
			last = max(last, s.t.Steps[n].First.Nth)
		}
		s.First.Nth = last + 1
	case s.First.At == 0:
		s.First.At = s.Claim.At
	}
	s.endAttempt()
	c.Cause = s.cause
	c.At = s.at.Now
	s.State = state
	s.Claim = c
	s.CompleteBy = 0
	s.Wait = StepWait{}
	s.NoEffect = 0
	s.Attempt++
}

// input evaluates the input of a step. It reads only values that do not change until the next claim. A
// redelivery must compute the input again, byte for byte (P12, effects are emitted again).
func (s step) input(op core.Operation) (json.RawMessage, error) {
	undo := op == core.UndoOp && s.d.Undo != nil && s.d.Undo.Input != nil
	switch given := s.Corrected; {
	case undo:
	case given != nil: // P51, a call can get another input
		return given.Input, nil
	case s.d.Input == nil:
		return nil, nil
	}
	if !s.orderKnown() {
		return nil, nil
	}
	if undo {
		return s.def.Expr.Value(core.PartUndo, s.i, s.environment(true))
	}
	return s.def.Expr.Value(core.PartInput, s.i, s.environment(false))
}

// environment returns the values that an expression of step i may read: the order, and the outputs and
// failure codes of earlier steps. If own is true, the values include the output and failure code of step i.
func (s step) environment(own bool) core.Environment {
	env := core.Environment{
		OrderID: s.t.OrderID, Run: s.t.Run, Order: s.order,
		Outputs: make(map[string]json.RawMessage, len(s.def.Ancestors(s.i))+1),
	}
	for _, j := range s.def.Ancestors(s.i) {
		s.t.show(s.def, j, &env)
	}
	if own {
		s.t.show(s.def, s.i, &env)
	}
	if s.def.Tokens {
		env.Token = s.token
	}
	return env
}

func (r *decision) advanceUndo() {
	for r.err == nil && r.t.ProcessState == core.Compensating {
		i := r.t.NextToUndo()
		switch {
		case i >= 0:
			if !r.step(i).undoStep() {
				return
			}
		case r.t.Undo.CancelAsked:
			r.enterEnd(core.Cancelled, "")
		default:
			r.enterEnd(core.Compensated, "")
		}
	}
}

// undoStep begins the undo of a step, or the wait before the undo. While the do of the step is in flight,
// undoStep begins the undo only if the grade is fenced. The result is true if the step is already
// Compensated.
func (s step) undoStep() bool {
	if s.State == core.Compensating || s.State == core.UndoWait && s.at.Now < s.Wait.At {
		return false
	}
	if s.d.Each != nil {
		return s.undoChildren()
	}
	quiet := s.Quiet().Add(s.def.Agents[s.d.Agent].ClockSkew)
	switch {
	case s.d.Undo == nil:
		// A step without an undo operation needs no request, but its do must have ended.
		if s.State == core.Processing {
			return false
		}
		s.undone()
		return true
	case s.d.Grade == core.Fenced: // the service refuses a do that comes after the undo
		s.claimUndo()
	case s.State == core.Processing:
		return false
	case s.at.Now <= quiet:
		// A call of the do may still take effect, even after a reply (P21, an undo waits for quiet).
		s.release()
		s.State = core.UndoWait
		s.scheduleWake(quiet + 1)
		if s.t.notifies(s.def, core.StatusUndoing) {
			s.tell(s.t.Status(core.Status{
				Kind: core.StatusUndoing, At: s.at.Now, Step: s.Name,
				Until: s.Wait.At,
			}))
		}
	default:
		s.claimUndo()
	}
	return false
}

// claimUndo claims the undo of a step. If the input of the undo cannot be computed, the task enters Error,
// because a retry would fail too.
func (s step) claimUndo() {
	if s.bySupervisor() {
		s.claimLater()
		return
	}
	input, err := s.input(core.UndoOp)
	s.recordAttempt(OutcomeSuperseded, "")
	if err != nil {
		s.recordFailure("expression", "undo input: "+err.Error(), 0)
		s.State = core.UndoWait
		s.release()
		s.enterError()
		return
	}
	s.takeCall(core.UndoOp)
	s.emit(s.t.Request(s.def, s.i, input))
}
