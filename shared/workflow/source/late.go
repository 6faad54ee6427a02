package source

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// deadline reads the deadline of a step (P58, a step has a deadline).
func (b *builder) deadline(v *value, s *core.StepDefinition) {
	s.Deadline = b.duration(v, "deadline", limitDeadline, 0)
	if until := v.get("deadline").get("until"); until != nil && until.shape == isText {
		s.DeadlineAt = appendText(nil, until.text)
	}
	on := v.field("onDeadline")
	switch {
	case s.HasDeadline() && on != nil:
		s.OnDeadline = core.Policy(on.value.text)
	case s.HasDeadline():
		s.OnDeadline = s.OnFailure
	case on != nil && v.field("deadline") == nil:
		b.error(on.at, "step %s has onDeadline but no deadline", s.Name).fix("write a deadline, as in deadline: 1d")
	}
}

// deadlineAt reads the expression of an absolute deadline.
func (b *builder) deadlineAt(f field, s *core.StepDefinition, scope expression.Scope) {
	if s.DeadlineAt == nil {
		return
	}
	until := f.value.get("deadline").get("until")
	b.variable(until)
	s.DeadlineAt = b.template(until, "until", scope)
}

// late checks the deadline of a step.
func (b *builder) late(i int) {
	s := &b.def.Steps[i]
	v := b.steps[i].value
	if !s.HasDeadline() || v.field("deadline") == nil {
		return
	}
	at := v.field("deadline").value.at
	switch {
	case s.PointOfNoReturn && s.OnDeadline != core.OnFailureStop:
		b.error(at, "step %s is a point of no return, so nothing but the operator can end it when it is late",
			s.Name).fix("write onDeadline: stop")
	case s.OnDeadline == core.OnFailureContinue && s.Grade == core.Plain:
		b.warn(at, "if a call of step %s is in doubt when it is late, the order stops for the operator, because "+
			"its service is plain", s.Name).fix("use a service that is at least idempotent")
	case s.OnDeadline == core.OnFailureUndo && s.Agent != "" && s.Deadline > 0 && s.Deadline < s.MaxQueueTime:
		b.warn(at, "an agent that is away for %s undoes these orders: the deadline of step %s is shorter than "+
			"its maxQueueTime, %s", s.Deadline, s.Name, s.MaxQueueTime).
			fix("write onDeadline: stop or continue, or a longer deadline")
	}
}
