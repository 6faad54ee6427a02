package core

import "encoding/json"

// advance does all that the present state allows (P20): claims what is ready, or undoes what was
// attempted, or enters the end. In Error it does nothing.
func (r *deciding) advance() {
	switch r.t.ProcessState {
	case Processing:
		r.advanceForward()
	case Compensating:
		r.advanceUndo()
	}
}

// advanceForward goes on to a fixpoint: a skipped step can make others ready. It claims what is
// ready, and with it the steps given: those that a Resubmit takes up again.
func (r *deciding) advanceForward(again ...int) {
	var room [8]int
	var claims []int
	for skipped := true; skipped; {
		claims, skipped = append(room[:0], again...), false
		for i := range r.t.Steps {
			if !r.ready(i) {
				continue
			}
			wanted := r.wanted(i)
			if r.err != nil || r.t.ProcessState != Processing {
				return
			}
			if !wanted {
				r.t.Steps[i].State, skipped = Skipped, true
				continue
			}
			claims = append(claims, i)
		}
	}
	r.claim(claims...)
	if r.err != nil || r.t.ProcessState != Processing {
		return
	}
	for i := range r.t.Steps {
		if s := r.t.Steps[i].State; s != Processed && s != Skipped {
			return
		}
	}
	r.enterProcessed()
}

// ready: not attempted in this run, and all before it done or skipped. A step that was handed
// back is claimed by Wake and Resubmit only.
func (r *deciding) ready(i int) bool {
	s := &r.t.Steps[i]
	if s.State != Pending || s.Attempted() {
		return false
	}
	for _, j := range r.def.after[i] {
		if p := r.t.Steps[j].State; p != Processed && p != Skipped {
			return false
		}
	}
	return true
}

// wanted evaluates a ready step's condition. One that fails is the step's permanent failure.
func (r *deciding) wanted(i int) bool {
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

// failExpression: Failed without a claim; nothing was attempted, so there is nothing to undo.
func (r *deciding) failExpression(i int, what string, err error) {
	r.blame(i, "expression", what+": "+err.Error(), 0)
	r.giveUp(i)
	r.policy(i)
}

func (r *deciding) orderKnown() bool {
	if r.order == nil {
		r.err = ErrOrderNeeded
	}
	return r.err == nil
}

// claim takes dos: each its next attempt, its times, its request (P1, P3, P6). All inputs come
// first: where one fails the task turns around, and then none of the others may have been asked
// for in the same breath.
func (r *deciding) claim(steps ...int) {
	if r.supervisor && len(steps) > 0 {
		panic("core: the Supervisor must not claim (P16)")
	}
	var room [8]json.RawMessage
	inputs := room[:0]
	for _, i := range steps {
		input, err := r.input(i, Do)
		if r.err != nil {
			return
		}
		if err != nil {
			r.failExpression(i, "input", err)
			return
		}
		inputs = append(inputs, input)
	}
	for n, i := range steps {
		s := &r.t.Steps[i]
		if r.t.Hops >= r.def.HopBudget { // P23
			r.blame(i, "hops", "the task used up its hop budget: a loop, or far more retries than planned", s.Attempt)
			s.release()
			r.enterError(Forward, i)
			return
		}
		r.t.Hops++
		r.take(i, Do)
		s.QuietBy = latest(s.QuietBy, s.StopBy)
		r.emit(r.request(i, inputs[n]))
	}
}

// take writes a claim into the step.
func (r *deciding) take(i int, op Operation) {
	s, d := &r.t.Steps[i], &r.def.Steps[i]
	agent := r.def.Agents[d.Agent]
	s.Attempt++
	s.Undo = op == UndoOp
	s.State, s.LockedBy, s.Cause, s.NoEffect = Processing, r.at.By[:min(len(r.at.By), maxName)], r.cause, 0
	if s.Undo {
		s.State = Compensating
	}
	if s.First == 0 {
		r.t.Claims++
		s.First, s.FirstAt = r.t.Claims, r.at.Now
	}
	// P32: what this task granted before, what the agent is granted by the definition, and twice
	// what the last request of that agent was seen to wait.
	s.Allowance = min(max(s.Allowance, agent.QueueAllowance, 2*r.at.Waits[d.Agent]), max(d.MaxQueueTime, agent.QueueAllowance))
	until := r.knownUntil(i)
	s.ClaimedAt = r.at.Now
	s.WakeAt = 0
	s.StopBy = r.at.Now.Add(r.timeout(i) + s.Allowance)
	if until != 0 && !s.Undo { // P18: a copy that comes later could be done a second time
		s.StopBy = min(s.StopBy, latest(until, r.at.Now.Add(r.timeout(i))))
	}
	s.CompleteBy = s.StopBy
	s.LastStopBy = latest(s.LastStopBy, s.StopBy)
}

func (r *deciding) timeout(i int) Duration {
	if d := &r.def.Steps[i]; r.t.Steps[i].Undo {
		return d.Undo.Timeout
	}
	return r.def.Steps[i].Timeout
}

// input evaluates what the agent is given. It depends on nothing that can change while the claim
// stands, so that a redelivery computes the same bytes (P12).
func (r *deciding) input(i int, op Operation) (json.RawMessage, error) {
	d := &r.def.Steps[i]
	undo := op == UndoOp && d.Undo != nil && d.Undo.Input != nil
	if !undo && d.Input == nil {
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

// environment shows an expression the outputs of the steps that come before it.
func (r *deciding) environment(i int, own bool) Environment {
	outputs := make(map[string]json.RawMessage, len(r.def.ancestors[i])+1)
	for _, j := range r.def.ancestors[i] {
		if s := &r.t.Steps[j]; s.Output != nil {
			outputs[s.Name] = s.Output
		}
	}
	if s := &r.t.Steps[i]; own && s.Output != nil {
		outputs[s.Name] = s.Output
	}
	return Environment{OrderID: r.t.OrderID, Run: r.t.Run, Order: r.order, Outputs: outputs}
}

// request derives the message of the present claim from what cannot change (P12).
func (r *deciding) request(i int, input json.RawMessage) SendRequest {
	s, d := &r.t.Steps[i], &r.def.Steps[i]
	q := SendRequest{
		Agent: d.Agent, OrderID: r.t.OrderID, Run: r.t.Run, Step: s.Name, Attempt: s.Attempt,
		Operation: Do, Name: d.Operation, Grade: d.Grade, Key: Key(r.t.OrderID, r.t.Run, s.Name),
		Timeout: r.timeout(i), ClaimedAt: s.ClaimedAt, CompleteBy: s.CompleteBy, StopBy: s.StopBy,
		ClockSkew: r.def.Agents[d.Agent].ClockSkew, Input: input, Resolved: s.Resolved, PointOfNoReturn: d.PointOfNoReturn,
		Trace: trace(r.t.OrderID, r.t.Run, s.Name, s.Attempt),
	}
	if s.Undo {
		q.Operation, q.Name = UndoOp, d.Undo.Operation
	}
	return q
}

// advanceUndo undoes every attempted step, latest first claim first (P7, P20).
func (r *deciding) advanceUndo() {
	for r.err == nil && r.t.ProcessState == Compensating {
		i := r.candidate()
		if i < 0 {
			r.enterUndone()
			return
		}
		if !r.undoNext(i) {
			return
		}
	}
}

func (r *deciding) candidate() int {
	found := -1
	for i := range r.t.Steps {
		s := &r.t.Steps[i]
		if s.Attempted() && s.State != Compensated && (found < 0 || s.First > r.t.Steps[found].First) {
			found = i
		}
	}
	return found
}

// undoNext moves the candidate on; true where the next one can be looked at.
func (r *deciding) undoNext(i int) bool {
	s, d := &r.t.Steps[i], &r.def.Steps[i]
	quiet := s.QuietBy.Add(r.def.Agents[d.Agent].ClockSkew)
	switch {
	case s.State == Compensating:
		return false
	case s.State == UndoWait && r.at.Now < s.WakeAt:
		return false
	case d.Undo == nil: // "undo: none", or a point of no return proven without effect: nothing to ask for, once nobody is at work on it
		if s.State == Processing {
			return false
		}
		r.undone(i)
		return true
	case d.Grade == Fenced: // the fence stops a do that is under way
		r.claimUndo(i)
	case s.State == Processing:
		return false
	case r.at.Now <= quiet: // P21: no call may be under way any more, whatever replies came (H2)
		s.State = UndoWait
		r.put(s, quiet+1)
		if r.notifies(StatusUndoing) {
			r.emit(r.status(Status{Kind: StatusUndoing, At: r.at.Now, Step: s.Name, Until: s.WakeAt}))
		}
	default:
		r.claimUndo(i)
	}
	return false
}

// claimUndo takes an undo. An undo whose input cannot be computed needs the operator: no retry
// would mend it.
func (r *deciding) claimUndo(i int) {
	if r.supervisor {
		panic("core: the Supervisor must not claim (P16)")
	}
	s := &r.t.Steps[i]
	input, err := r.input(i, UndoOp)
	if r.err != nil {
		return
	}
	r.unfinished(i, OutcomeSuperseded, "")
	if err != nil {
		r.blame(i, "expression", "undo input: "+err.Error(), 0)
		s.State = UndoWait
		s.release()
		r.enterError(Undoing, i)
		return
	}
	r.take(i, UndoOp)
	r.emit(r.request(i, input))
}
