package source

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// goesOn checks a step with onFailure: continue (P42, orders can go on after failures). It warns if an order
// may wait long after a failure of this step.
func (b *builder) goesOn(i int) {
	s := &b.def.Steps[i]
	policy := b.steps[i].value.field("onFailure")
	switch {
	case s.OnFailure != core.OnFailureContinue || policy == nil || b.memberIn(s.Name) != nil:
	case s.PointOfNoReturn:
		b.error(policy.value.at, "step %s is a point of no return, so the order cannot go on without it", s.Name).
			fix("write onFailure: stop, or onFailure: undo to undo the order if the service proves a refusal; or " +
				"remove pointOfNoReturn and declare an undo")
	case s.Undo != nil && (s.Grade == core.Idempotent || s.Grade == core.Plain):
		b.warn(policy.value.at, "after a failure of step %s the order goes on only when no call of it can take "+
			"effect any more: up to %s from its last attempt, as its service is %s", s.Name, b.quiet(s), s.Grade).
			fix("shorten its timeout or the queueAllowance of its agent, or let the service fence, where that is " +
				"too long")
	}
}
