package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// notInMembers gives the advice for a field that a member cannot have.
var notInMembers = map[string]string{
	"after":           "write it beside any, for all members",
	"when":            "write it beside any, for all members, or let a later step ask for steps.%s.first",
	"onFailure":       "write it beside any: a member that fails is undone alone, until too few are left",
	"onDeadline":      "leave it out: a member that is late has failed",
	"pointOfNoReturn": "put the point of no return into a step after %s",
	"fail":            "put the rule into a step of its own",
	"any":             "put the inner one into a block, as the only step of a member with steps",
}

// withMembers returns the file with each member of an any as a step of its own, before the step with the any (P54,
// the first of several decides). The schema check and the builder then see ordinary steps.
func withMembers(root *value, r *report) *value {
	steps := root.field("steps")
	if steps == nil || steps.value.shape != isMap {
		return root
	}
	all := *steps.value
	all.fields = nil
	for _, f := range steps.value.fields {
		if members := f.value.get("any"); members != nil && members.shape == isMap {
			for _, m := range members.fields {
				if memberName(f.key, m, steps.value, r) {
					all.fields = append(all.fields, memberOf(f, m, r)...)
				}
			}
		}
		all.fields = append(all.fields, f)
	}
	return root.with("steps", &all)
}

// memberName reports whether a member can be a step. If not, memberName reports a problem.
func memberName(group string, m field, steps *value, r *report) bool {
	return m.value.shape == isMap && // the schema check reports the wrong type
		r.madeStep(m.at, "member "+m.key+" of step "+group, core.MemberName(group, m.key), steps,
			"give that step, or the member, another name", "give the step or the member a shorter name")
}

// madeStep reports whether something can become a step with a name. If not, madeStep reports a problem.
func (r *report) madeStep(at position, of, name string, steps *value, fixTaken, fixLong string) bool {
	switch {
	case steps.field(name) != nil:
		r.error(at, "%s becomes a step %s, and there is one", of, name).fix("%s", fixTaken)
	case len(name) > maxName:
		r.error(at, "%s becomes a step %s, whose name has more than %d characters", of, name, maxName).
			fix("%s", fixLong)
	default:
		return true
	}
	return false
}

// memberOf makes a step of a member, unless the member is of a kind that cannot be one. It gets the predecessors of
// the step with the any.
func memberOf(group, m field, r *report) (steps []field) {
	v := *m.value
	v.fields = nil
	for _, f := range m.value.fields {
		fix, refused := notInMembers[f.key]
		if !refused {
			v.fields = append(v.fields, f)
			continue
		}
		if strings.Contains(fix, "%s") {
			fix = fmt.Sprintf(fix, group.key)
		}
		r.error(f.at, "member %s of step %s has %s", m.key, group.key, f.key).fix("%s", fix)
	}
	if m.value.field("fail") != nil || m.value.field("any") != nil {
		return nil
	}
	if formOf(&v) == nil { // a call has no default; memberPolicies sets the policy
		v.fields = append(v.fields,
			field{m.at, "onFailure", &value{at: m.at, shape: isText, text: string(core.OnFailureContinue)}})
	}
	if after := group.value.field("after"); after != nil {
		v.fields = append(v.fields, *after)
	}
	return []field{{m.at, core.MemberName(group.key, m.key), &v}}
}

// any reads a step that ends when the first of its members have ended.
func (s step) any() {
	s.uncalled()
	s.Any = &core.Any{Enough: s.whole(s.value, "enough", 1)}
	s.deadline()
	s.remind()
	for _, m := range s.value.get("any").fields {
		s.Any.Members = append(s.Any.Members, m.key)
	}
	if n := len(s.Any.Members); s.Any.Enough > n && s.value.field("enough") != nil {
		s.error(s.value.field("enough").value.at, "step %s needs %d members that end well, and has %d", s.key,
			s.Any.Enough, n).fix("lower enough, or add members")
	}
}

// memberPolicies lets a member that fails end alone (P42, orders can go on after failures). If the any stops, the
// member stays Failed, so that a Resubmit asks it again.
func (b *builder) memberPolicies() {
	for i := range b.def.Steps {
		s := &b.def.Steps[i]
		group := b.memberIn(s.Name)
		if asked, isAsk := strings.CutSuffix(s.Name, askSuffix); group == nil && isAsk {
			group = b.memberIn(asked)
		}
		if group != nil && s.HasDeadline() {
			s.OnDeadline = core.OnFailureContinue
		}
		switch {
		case group == nil:
		case group.OnFailure == core.OnFailureStop:
			s.OnFailure = core.OnFailureStop
		default:
			s.OnFailure = core.OnFailureContinue
		}
	}
}

func noExpressions(step, expression.Scope) {}

// memberIn returns the step whose member step i is, or nil.
func (b *builder) memberIn(name string) *core.StepDefinition {
	for i := range b.def.Steps {
		if s := &b.def.Steps[i]; s.Any != nil && slices.Contains(s.Servants(), name) {
			return s
		}
	}
	return nil
}

// member checks a step that is a member of an any.
func (s step) member() {
	group := s.memberIn(s.Name)
	if group == nil {
		return
	}
	switch {
	case s.PointOfNoReturn:
		s.error(s.at, "step %s has children with a point of no return, and could not be undone if another member "+
			"of %s decides", s.Name, group.Name).fix("put the workflow into a step after %s", group.Name)
	case s.Kind() != core.KindCall:
	case s.Grade == core.Plain:
		s.warn(s.at, "if another member of %s decides while a call of %s is in doubt, the order stops for the "+
			"operator, because its service is plain", group.Name, s.Name).
			fix("use a service that is at least idempotent")
	case s.Grade == core.Idempotent && s.Undo != nil:
		s.warn(s.at, "if another member of %s decides, the order ends only when no call of %s can take effect any "+
			"more: up to %s after its claim, as its service is %s", group.Name, s.Name, s.quiet(), s.Grade).
			fix("shorten its timeout, or let the service fence, where that is too long")
	}
}

// quiet returns how long after its claim a call can take effect.
func (s step) quiet() (wait core.Duration) {
	for _, name := range s.AllAgents() {
		agent := s.def.Agents[name]
		wait = max(wait, max(s.Timeout, s.MaxDuration)+agent.QueueAllowance+agent.ClockSkew)
	}
	return wait
}

// endless warns about an any that nothing ends.
func (s step) endless() {
	if s.Any == nil || s.HasDeadline() {
		return
	}
	for _, m := range s.def.Steps {
		ends := m.HasDeadline() || m.Each == nil || m.Each.Child == nil || m.Each.Child.Deadline > 0
		if slices.Contains(s.Servants(), m.Name) && ends {
			return
		}
	}
	s.warn(s.at, "no member of step %s has a time by which it ends", s.Name).
		fix("add a member that ends it, as in gone: {wait: 30d}")
}
