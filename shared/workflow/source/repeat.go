package source

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// besideRepeat gives the advice for fields that belong to a list of children.
var besideRepeat = map[string]string{
	"each":        "put the each into a block within this one: a step with each in its steps",
	"concurrency": "remove it: one iteration runs after the other",
	"enough":      "let until say when it ends",
	"collect":     "return what is needed from one iteration to the next, as in total: ${ order.total + … }",
}

// repeat reads the field repeat of a step of child orders (P57, a block can be repeated).
func (b *builder) repeat(f field, s *core.StepDefinition) {
	v := f.value.get("repeat")
	if v == nil || v.shape != isMap {
		return // the schema check reports the wrong type
	}
	s.Each.Concurrency = 1
	s.Each.Repeat = &core.Repeat{
		AtMost: b.whole(v, "atMost", 0), Every: b.duration(v, "every", limitPoll, 0),
		OnExhausted: core.Policy(b.text(v, "onExhausted")),
	}
	for _, beside := range f.value.fields {
		if fix, refused := besideRepeat[beside.key]; refused {
			b.error(beside.at, "step %s has %s beside repeat", f.key, beside.key).fix("%s", fix)
		}
	}
	if every := v.field("every"); every != nil && s.Each.Repeat.Every > 0 && s.Each.Repeat.Every < core.Second {
		b.warn(every.at, "the iterations of step %s follow each other within a second", f.key).
			fix("leave every out, or make it longer: each iteration is an order of its own")
	}
	exhausted := s.Each.Repeat.OnExhausted
	if s.PointOfNoReturn && (s.OnFailure != core.OnFailureStop || exhausted == core.OnFailureUndo) {
		b.error(f.value.field("repeat").at, "step %s repeats a point of no return, and would be undone if it "+
			"failed in a later iteration", f.key).fix("write onFailure: stop, and onExhausted: stop or keep")
	}
}

// lasts warns about a repeat that may last longer than the deadline of the order, or than a service of its steps
// remembers the keys with which these are undone.
func (b *builder) lasts(i int) {
	s := &b.def.Steps[i]
	if s.Each == nil || s.Each.Repeat == nil || s.Each.Child == nil {
		return
	}
	r := s.Each.Repeat
	longest, _ := longestPath(s.Each.Child)
	lasts := core.Duration(r.AtMost)*longest + core.Duration(r.AtMost-1)*r.Every
	if s.Deadline > 0 {
		lasts = min(lasts, s.Deadline)
	}
	at := b.steps[i].value.field("repeat").at
	says := fmt.Sprintf("the iterations of step %s may last %s in all, ", s.Name, workflow.Short(lasts))
	if b.def.Deadline > 0 && lasts > b.def.Deadline {
		b.warn(at, "%sand the deadline of the order is %s", says, b.def.Deadline).
			fix("lower atMost or the times, give the step a deadline, or make that of the order longer")
	}
	for _, inner := range s.Each.Child.Steps {
		kept := s.Each.Child.Agents[inner.Agent].KeyRetention
		if inner.Undo != nil && kept > 0 && lasts > kept {
			b.warn(at, "%sbut agent %s remembers keys for %s only: the undo of step %s in the first iteration "+
				"may come too late", says, inner.Agent, kept, inner.Name).
				fix("lower atMost or the times, or raise keyRetention if the service remembers keys for longer")
			return
		}
	}
}

var (
	judges = regexp.MustCompile(`\b(result|index)\b`)
	parts  = regexp.MustCompile(`\bresult\s*(\?\.|[.[])`)
)

// until reads the condition that ends a repeat.
func (b *builder) until(f field, s *core.StepDefinition, scope expression.Scope) {
	v := f.value.get("repeat").get("until")
	if s.Each.Repeat == nil || v == nil || v.shape != isText || !b.bare(v, "until", "result.done") {
		return
	}
	text := strings.TrimSpace(v.text)
	scope.Result = true
	scope.Condition = true
	b.expression(v.at, text, scope)
	child := s.Each.Child
	switch {
	case !judges.MatchString(text):
		b.error(v.at, "until is the same after each iteration, because it reads neither result nor index").
			fix("read the output of the iteration that has ended, as in until: result.done")
	case child != nil && child.Output == nil && parts.MatchString(text):
		b.error(v.at, "until reads a part of result, and the iterations of step %s have no output", f.key).
			fix("add it to the workflow or block, as in output: {done: true}")
	}
	s.Each.Repeat.Until = text
}
