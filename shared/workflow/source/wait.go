package source

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// wait reads a step that waits for a time (P34, a wait ends at a fixed time). The method waitEnd reads its
// expression.
func (s step) wait() {
	v := s.value
	s.uncalled()
	s.Wait = &core.Wait{}
	w := v.get("wait")
	switch w.shape {
	case isText:
		s.Wait.For = s.duration(v, "wait", limitWait, 0)
	case isMap:
		s.Wait.For = s.duration(w, "for", limitWait, 0)
		s.Wait.Spread = s.duration(w, "spread", limitWait, 0)
		if (w.field("for") == nil) == (w.field("until") == nil) {
			s.error(w.at, "step %s waits either for a time span or until a time", s.key).
				fix("write one of for: 48h and until: ${ order.dueAt }")
		}
	}
}

// waitEnd reads the expression in the field wait.for or wait.until of a step. The expression becomes the input
// of the step.
func (s step) waitEnd(scope expression.Scope) {
	w := s.value.get("wait")
	key := "until"
	v := w.get("until")
	if v == nil {
		key = "for"
		v = w.get("for")
	}
	if v == nil || v.shape != isText {
		return
	}
	if key == "for" && !isExpression(v) {
		return
	}
	if key == "until" {
		s.variable(v)
	}
	s.Input = s.template(v, key, scope)
}

// variable checks that until is an expression.
func (b *builder) variable(until *value) {
	if !isExpression(until) {
		b.error(until.at, "until is %s, the same time for every order", until).
			fix("write an expression, as in until: ${ order.dueAt }")
	}
}

// span returns the timeout of a step. For a wait it returns the longest wait, and for child orders the longest path of
// one of them. A time that comes from the order counts as zero.
func span(s *core.StepDefinition) core.Duration {
	switch {
	case s.Wait != nil:
		return s.Wait.For + s.Wait.Spread
	case s.Each == nil || s.Each.Child == nil:
		return s.Timeout
	}
	longest, _ := longestPath(s.Each.Child)
	if s.Deadline > 0 {
		return min(longest, s.Deadline)
	}
	return longest
}
