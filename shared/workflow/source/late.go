package source

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// deadline reads the deadline of a step (P58, a step has a deadline).
func (s step) deadline() {
	s.Deadline = s.duration(s.value, "deadline", limitDeadline, 0)
	if until := s.value.get("deadline").get("until"); until != nil && until.shape == isText {
		s.DeadlineAt = appendText(nil, until.text)
	}
	on := s.value.field("onDeadline")
	switch {
	case s.HasDeadline() && on != nil:
		s.OnDeadline = core.Policy(on.value.text)
	case s.HasDeadline():
		s.OnDeadline = s.OnFailure
	case on != nil && s.value.field("deadline") == nil:
		s.error(on.at, "step %s has onDeadline but no deadline", s.Name).fix("write a deadline, as in deadline: 1d")
	}
}

// deadlineAt reads the expression of an absolute deadline.
func (s step) deadlineAt(scope expression.Scope) {
	if s.DeadlineAt == nil {
		return
	}
	until := s.value.get("deadline").get("until")
	s.variable(until)
	s.DeadlineAt = s.template(until, "until", scope)
}

// late checks the deadline of a step.
func (s step) late() {
	if !s.HasDeadline() || s.value.field("deadline") == nil {
		return
	}
	at := s.value.field("deadline").value.at
	switch {
	case s.PointOfNoReturn && s.OnDeadline != core.OnFailureStop:
		s.error(at, "step %s is a point of no return, so nothing but the operator can end it when it is late",
			s.Name).fix("write onDeadline: stop")
	case s.OnDeadline == core.OnFailureContinue && s.Grade == core.Plain:
		s.warn(at, "if a call of step %s is in doubt when it is late, the order stops for the operator, because "+
			"its service is plain", s.Name).fix("use a service that is at least idempotent")
	case s.OnDeadline == core.OnFailureUndo && s.Agent != "" && s.Deadline > 0 && s.Deadline < s.MaxQueueTime:
		s.warn(at, "an agent that is away for %s undoes these orders: the deadline of step %s is shorter than "+
			"its maxQueueTime, %s", s.Deadline, s.Name, s.MaxQueueTime).
			fix("write onDeadline: stop or continue, or a longer deadline")
	}
}

// goesOn checks a step with onFailure: continue (P42, orders can go on after failures). It warns if an order
// may wait long after a failure of this step.
func (s step) goesOn() {
	policy := s.value.field("onFailure")
	switch {
	case s.OnFailure != core.OnFailureContinue || policy == nil || s.memberIn(s.Name) != nil:
	case s.PointOfNoReturn:
		s.error(policy.value.at, "step %s is a point of no return, so the order cannot go on without it", s.Name).
			fix("write onFailure: stop, or onFailure: undo to undo the order if the service proves a refusal; or " +
				"remove pointOfNoReturn and declare an undo")
	case s.Undo != nil && (s.Grade == core.Idempotent || s.Grade == core.Plain):
		s.warn(policy.value.at, "after a failure of step %s the order goes on only when no call of it can take "+
			"effect any more: up to %s from its last attempt, as its service is %s", s.Name, s.quiet(), s.Grade).
			fix("shorten its timeout or the queueAllowance of its agent, or let the service fence, where that is " +
				"too long")
	}
}
