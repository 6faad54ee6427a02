package protocol

import (
	"cmp"
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Attempted reports whether the step was claimed at least once in this run (P7, undo covers every attempted
// step).
func (s *Step) Attempted() bool { return s.First.Nth > 0 }

// FirstClaim returns the time of the step's first claim in this run. It returns zero if the step was not
// claimed.
func (s *Step) FirstClaim() core.Time {
	if s.First.Nth > 0 && s.First.At == 0 {
		return s.Claim.At
	}
	return s.First.At
}

// Quiet returns the latest stop-by time of all do attempts in this run (P21, an undo waits for quiet).
func (s *Step) Quiet() core.Time {
	if s.Claim.Undo {
		return s.Stops.Do
	}
	return max(s.Stops.Do, s.Claim.StopBy)
}

// LastStop returns the latest stop-by time of all attempts in this run.
func (s *Step) LastStop() core.Time { return max(s.Stops.Do, s.Stops.Undo, s.Claim.StopBy) }

// Begun reports whether the step was claimed in this run, was skipped, or failed without stopping the order.
func (s *Step) Begun() bool { return s.Attempted() || s.State == core.Skipped || s.FailureCode != "" }

// HandedBack reports whether the step is a call that waits for its next claim.
func (s *Step) HandedBack() bool { return s.State == core.Pending && s.Attempted() }

// InFlight reports whether a request of the step may be in flight.
func (s *Step) InFlight() bool { return s.State == core.Processing || s.State == core.Compensating }

// Step returns the named step, or nil.
func (t *Task) Step(name string) *Step {
	if i := t.Index(name); i >= 0 {
		return &t.Steps[i]
	}
	return nil
}

// Index returns the index of a step by its name, or -1.
func (t *Task) Index(name string) int {
	for i := range t.Steps {
		if t.Steps[i].Name == name {
			return i
		}
	}
	return -1
}

// StartedAt returns the time of the task's last start: the beginning of the run, or a later Resubmit.
func (t *Task) StartedAt() core.Time {
	if t.Start.At == 0 {
		return t.Created
	}
	return t.Start.At
}

// Terminal reports whether the task is Processed, Compensated, Cancelled or Closed.
func (t *Task) Terminal() bool { return t.ProcessState.Terminal() }

// InFlight reports whether any step is in flight.
func (t *Task) InFlight() bool {
	for i := range t.Steps {
		if t.Steps[i].InFlight() {
			return true
		}
	}
	return false
}

// AtRest reports whether the task is at an end that was reported (P11, an end is reported until settled), and
// no status has to be sent again. An Error is an end only if no step is in flight. Sweeps ignore a task at
// rest.
func (t *Task) AtRest() bool {
	return (t.Terminal() || t.ProcessState == core.Error && !t.InFlight()) && t.ResendTime() == 0
}

// NextToUndo returns the index of the step that is undone next (P20, what happens next is computed). It
// returns -1 if no step is left to undo.
func (t *Task) NextToUndo() int {
	found := -1
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Attempted() && s.State != core.Compensated && (found < 0 || s.First.Nth > t.Steps[found].First.Nth) {
			found = i
		}
	}
	return found
}

// PastPointOfNoReturn reports whether a point of no return was claimed. A claim does not count if a proof
// shows that it had no effect (P22a, a proven refusal permits undo).
func (t *Task) PastPointOfNoReturn(def *core.Definition) bool {
	for i := range t.Steps {
		if s := &t.Steps[i]; def.Steps[i].PointOfNoReturn && s.Attempted() && s.NoEffect == 0 {
			return true
		}
	}
	return false
}

// policyOf returns the policy for the failure of a step. OnTimeout applies if no answer came in time (P37,
// a question has a time), but not in a member, whose Any decides (P54). The order goes on after the failure of a
// step that nobody wants any more (P53, a step can be withdrawn).
func (t *Task) policyOf(def *core.Definition, i int) core.Policy {
	d := &def.Steps[i]
	s := &t.Steps[i]
	if s.Withdrawn != 0 || t.unwanted(def, i) {
		return core.OnFailureContinue
	}
	if def.MemberOf(i) < 0 && d.Answer != nil && d.Answer.OnTimeout != "" && s.Error != nil &&
		s.Error.Code == core.CodeAnswerTimeout {
		return d.Answer.OnTimeout
	}
	if def.MemberOf(i) < 0 && s.isExhausted(d) && d.Each.Repeat.OnExhausted != "" {
		return d.Each.Repeat.OnExhausted
	}
	return d.OnFailure
}

// LastActivity returns the last moment at which a call of step i in this run may take effect.
func (t *Task) LastActivity(def *core.Definition, i int) core.Time {
	skew := core.Duration(0)
	if def != nil {
		skew = def.Agents[def.Steps[i].Agent].ClockSkew
	}
	return t.Steps[i].LastStop().Add(skew)
}

// Direction returns Undoing for a Compensating task, and Forward for every other task.
func (t *Task) Direction() core.Phase {
	if t.ProcessState == core.Compensating {
		return core.Undoing
	}
	return core.Forward
}

// Passed reports whether later steps need not wait for this step any more, while the task goes forward. A
// Compensated step counts too, because the task continues without it (P42, orders can go on after failures).
func (s *Step) Passed() bool {
	return s.State == core.Processed || s.State == core.Skipped || s.State == core.Compensated ||
		s.State == core.Settling
}

// Apart reports whether the order is stored in an item or row of its own. ContentHash identifies this item or
// row.
func (t *Task) Apart() bool { return len(t.Order) == 0 && t.ContentHash != "" && t.Erased == nil }

// IsTombstone reports whether a Cancel created the task before its order came (P17, a cancel is kept).
func (t *Task) IsTombstone() bool {
	return t.ProcessState == core.Cancelled && t.Definition == "" && len(t.Steps) == 0
}

// EndKind returns the kind of the final status of the task's present end.
func EndKind(t *Task) core.StatusKind {
	switch t.ProcessState {
	case core.Processed:
		return core.StatusCompleted
	case core.Compensated:
		return core.StatusUndone
	case core.Cancelled:
		return core.StatusCancelled
	case core.Closed:
		return core.StatusClosed
	}
	return core.StatusFailed
}

// RaisesAlert reports whether the present end raises an alert (P11). Every Error raises an alert. If the
// workflow sets AlertUndone, the undo of an order after a failed step raises one too.
func RaisesAlert(def *core.Definition, t *Task) bool {
	return t.ProcessState == core.Error || t.ProcessState == core.Compensated && t.Undo.Why == WhyFailure &&
		def != nil && def.AlertUndone
}

// UndoneNext returns the step that is undone next (P20). It returns nil if the task is not being undone, or
// has nothing left to undo.
func UndoneNext(t *Task) *Step {
	if t.ProcessState != core.Compensating {
		return nil
	}
	if i := t.NextToUndo(); i >= 0 {
		return &t.Steps[i]
	}
	return nil
}

// FailureReason returns the last failure of the step as a reason for the task.
func (s *Step) FailureReason() Reason {
	if s.Error == nil {
		return Reason{Step: s.Name}
	}
	return Reason{s.Name, s.Error.Code, cmp.Or(s.Error.Message, noText)}
}

// An operator who reads a reason without a text must know that none is hidden elsewhere.
const noText = "its text is unknown: the agent gave none, or the order had no room for it"

// show adds the output and the failure code of step i to the environment, and what has decided an Any.
func (t *Task) show(def *core.Definition, i int, e *core.Environment) {
	s := &t.Steps[i]
	if def.Steps[i].Any != nil {
		if e.Won == nil {
			e.Won = map[string][]string{}
		}
		e.Won[s.Name] = s.Won
		for _, m := range s.Won {
			t.Step(core.MemberName(s.Name, m)).show(e)
		}
	}
	s.show(e)
	if output := t.OutputOf(s); output != nil {
		e.Outputs[s.Name] = output
	}
}

// show adds the output and the failure code of the step to the environment.
func (s *Step) show(e *core.Environment) {
	if s.Output != nil {
		e.Outputs[s.Name] = s.Output
	}
	if s.FailureCode != "" {
		if e.Failures == nil {
			e.Failures = map[string]string{}
		}
		e.Failures[s.Name] = s.FailureCode
	}
}

// OutputOf returns the output of a step. The output of an Any is that of the first member that has decided it.
func (t *Task) OutputOf(s *Step) json.RawMessage {
	if len(s.Won) == 0 {
		return s.Output
	}
	first := t.Step(core.MemberName(s.Name, s.Won[0]))
	if first == nil {
		return nil
	}
	return first.Output
}

// InputOf returns the input of a step in the task's present run, or nil if the step has no input. This is the
// input that an operator gave, or else the definition's input with the outputs of the preceding steps. For a
// wait or a question it returns the values that the claim stored, because these values stay valid after a
// move (P49, move pins another definition). The error is ErrOrderNeeded, ErrUnfit, or an error of the
// expression.
func InputOf(def *core.Definition, order []byte, t *Task, step int) (json.RawMessage, error) {
	if err := Unfit(def, t); err != nil {
		return nil, err
	}
	r := &decision{def: def, order: order, t: t, at: At{Tokens: core.HiddenTokens{}}}
	input, err := r.step(step).input(core.Do)
	if r.err != nil {
		return nil, r.err
	}
	s := &t.Steps[step]
	d := &def.Steps[step]
	switch {
	case err != nil:
	case d.Answer != nil && s.Answers != nil && s.Answers.Need > 0:
		return s.AsAsked(input, d.Timeout), nil
	case d.Wait != nil && input != nil && s.Wait.Until != 0:
		return asWaited(t, s, input, d.Wait.Spread), nil
	}
	return input, err
}

// asWaited returns the input of a wait. If the definition's value has changed since the claim, it returns
// the stored end of the wait instead (P49).
func asWaited(t *Task, s *Step, until json.RawMessage, spread core.Duration) json.RawMessage {
	if now, err := readEnd("the end of the wait", until, s.Claim.At); err == nil &&
		endOfWait(t, s, s.Attempt-1, now, spread) == s.Wait.Until {
		return until
	}
	stored, err := json.Marshal(s.Wait.Until)
	if err != nil { // Marshal cannot fail for a time
		return until
	}
	return stored
}
