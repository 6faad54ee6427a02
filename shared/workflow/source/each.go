package source

import (
	"bytes"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// each reads a step that starts child orders (P40, a step can have child orders). The method items reads its
// expressions.
func (s step) each() {
	v := s.value
	s.uncalled()
	s.Each = &core.Each{
		Workflow: s.text(v, "workflow"), Concurrency: s.whole(v, "concurrency", 10),
		Tolerate: s.whole(v, "tolerate", 0),
	}
	if c := v.get("collect"); c != nil {
		s.Each.Collect = c.truth
	}
	for _, key := range []string{"concurrency", "tolerate", "collect", "enough"} {
		if alone := v.field(key); alone != nil && v.field("each") == nil && v.field("repeat") == nil {
			s.error(alone.at, "%s belongs to a list of children, and step %s has one child", key, s.key).
				fix("write each: ${ order.items }, or remove %s", key)
		}
	}
	if v.field("steps") != nil {
		s.block()
	} else {
		s.child(v.get("workflow"))
	}
	if child := s.Each.Child; child != nil {
		for i := range child.Steps {
			s.PointOfNoReturn = s.PointOfNoReturn || child.Steps[i].PointOfNoReturn
		}
	}
	// A child past its point of no return cannot be undone. Therefore the parent must stop by default (P22, a
	// point of no return forbids undo).
	if s.PointOfNoReturn && s.text(v, "onFailure") == "" {
		s.OnFailure = core.OnFailureStop
	}
	s.deadline()
	s.remind()
	s.repeat()
	s.enough()
	s.Each.Events = passedEvents(v, s.Each)
}

// passedEvents returns the events that a step passes on to its only child at a time (P56, answers pass through): those
// of a block, and of any workflow that is repeated.
func passedEvents(v *value, e *core.Each) (all []core.PassedEvent) {
	if e.Child == nil || v.field("each") != nil || !e.Block() && e.Repeat == nil {
		return nil
	}
	add := func(event core.PassedEvent) {
		n := slices.IndexFunc(all, func(p core.PassedEvent) bool { return p.Name == event.Name })
		switch {
		case n < 0:
			all = append(all, event)
		case !bytes.Equal(all[n].Schema, event.Schema): // the child decides about the value
			all[n].Schema = nil
		}
	}
	for i := range e.Child.Steps {
		s := &e.Child.Steps[i]
		if s.Answer != nil && s.Answer.Event != "" {
			add(core.PassedEvent{Name: s.Answer.Event, Schema: s.Answer.Schema})
		}
		if s.Each != nil {
			for _, event := range s.Each.Events {
				add(event)
			}
		}
	}
	return all
}

// passed reports events that more than one step could pass on at once, and those that another step takes first.
func (s step) passed() {
	if s.Each == nil {
		return
	}
	for _, event := range s.Each.Events {
		for j := range s.def.Steps {
			o := &s.def.Steps[j]
			apart := s.before[j][s.Name] || s.before[s.i][o.Name]
			switch {
			case o.Answer != nil && o.Answer.Event == event.Name:
				s.warn(s.at, "an event %s goes to step %s, and never to the one in step %s", event.Name, o.Name,
					s.Name).fix("give one of the two events another name")
			case j < s.i && o.Each != nil && o.Each.Passes(event.Name) >= 0 && !apart:
				s.error(s.at, "the steps %s and %s can be open at once, and something in both waits for the event %s",
					o.Name, s.Name, event.Name).
					fix("give one of the two events another name, or let one of the steps come after the other")
			}
		}
	}
}

// enough checks the field enough of a list of children (P54, the first of several decides). The method items reads it.
func (s step) enough() {
	v := s.value
	enough := v.field("enough")
	if enough == nil || v.field("each") == nil {
		return
	}
	if s.PointOfNoReturn {
		s.error(enough.at, "the children of step %s have a point of no return, and could not be undone when "+
			"others have decided", s.key).
			fix("remove enough, or put the point of no return into a step after %s", s.key)
	}
	if tolerate := v.field("tolerate"); tolerate != nil {
		s.error(tolerate.at, "step %s has tolerate beside enough, which already says how many may fail", s.key).
			fix("remove tolerate")
	}
	list := v.get("each")
	if n := s.whole(v, "enough", 0); list.shape == isList && n > len(list.list) {
		s.error(enough.value.at, "step %s needs %d children that end well, and has %d", s.key, n, len(list.list)).
			fix("lower enough, or lengthen the list")
	}
}

func (s step) child(name *value) {
	e := s.Each
	if name == nil || name.shape != isText || e.Workflow == "" {
		return // the schema check reports the problem
	}
	if s.opts.child == nil {
		s.error(name.at, "the child workflow %s is not known here", e.Workflow).
			fix("read the file from the folder that holds both")
		return
	}
	def, problem, fix := s.opts.child(e.Workflow)
	if problem != "" {
		s.error(name.at, "%s", problem).fix("%s", fix)
		return
	}
	if s.tooDeep(name.at, def) {
		return
	}
	e.Definition = def.Hash
	e.Child = def
}

// tooDeep reports a problem if a child with this definition exceeds the limit of nested children.
func (b *builder) tooDeep(at position, child *core.Definition) bool {
	levels := depth(child) + 1
	if levels <= core.MaxChildDepth {
		return false
	}
	b.error(at, "with the workflow %s there are %d levels of children, the limit is %d", child.Name, levels,
		core.MaxChildDepth).fix("take a level out, or let a step submit orders of their own")
	return true
}

// depth returns the number of levels of child workflows below d.
func depth(d *core.Definition) (deepest int) {
	for i := range d.Steps {
		if e := d.Steps[i].Each; e != nil && e.Child != nil {
			deepest = max(deepest, 1+depth(e.Child))
		}
	}
	return deepest
}

// items reads the field each and the template of the child orders.
func (s step) items(scope expression.Scope) {
	if list := s.value.get("each"); list != nil {
		if list.shape != isList && !isExpression(list) {
			s.error(list.at, "each is %s, not a list", list).
				fix("write an expression, as in each: ${ order.items }")
		}
		s.Input = s.template(list, "each", scope)
		s.Each.Enough = s.template(s.value.get("enough"), "enough", scope)
		if text, found, _ := expression.Unwrap(list.text); found {
			value, _, _ := expression.Check(text, scope) // s.template has reported what is wrong
			scope.Element = value.Element()
		}
		scope.Item = true
	}
	if s.Each.Repeat != nil {
		s.until(scope)
		scope.Item = false
		scope.Repeat = true
	}
	s.Each.Order = s.template(s.value.get("input"), "input", scope)
	s.childOrders()
}

// childOrders reports the orders of children that are written as something else than a mapping.
func (s step) childOrders() {
	orders := s.value.get("each")
	if input := s.value.field("input"); input != nil {
		orders = &value{list: []*value{input.value}}
	}
	if orders == nil {
		return
	}
	for _, order := range orders.list {
		if order.shape != isMap && !isExpression(order) {
			s.error(order.at, "the order of a child of step %s is %s, not a mapping", s.key, order).
				fix(`write a mapping, as in input: {sku: "${ item }"}`)
			return
		}
	}
}
