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
func (s step) repeat() {
	v := s.value.get("repeat")
	if v == nil || v.shape != isMap {
		return // the schema check reports the wrong type
	}
	s.Each.Concurrency = 1
	s.Each.Repeat = &core.Repeat{
		AtMost: s.whole(v, "atMost", 0), Every: s.duration(v, "every", limitPoll, 0),
		OnExhausted: core.Policy(s.text(v, "onExhausted")),
	}
	for _, beside := range s.value.fields {
		if fix, refused := besideRepeat[beside.key]; refused {
			s.error(beside.at, "step %s has %s beside repeat", s.key, beside.key).fix("%s", fix)
		}
	}
	if every := v.field("every"); every != nil && s.Each.Repeat.Every > 0 && s.Each.Repeat.Every < core.Second {
		s.warn(every.at, "the iterations of step %s follow each other within a second", s.key).
			fix("leave every out, or make it longer: each iteration is an order of its own")
	}
	exhausted := s.Each.Repeat.OnExhausted
	if s.PointOfNoReturn && (s.OnFailure != core.OnFailureStop || exhausted == core.OnFailureUndo) {
		s.error(s.value.field("repeat").at, "step %s repeats a point of no return, and would be undone if it "+
			"failed in a later iteration", s.key).fix("write onFailure: stop, and onExhausted: stop or keep")
	}
}

// lasts warns about a repeat that may last longer than the deadline of the order, or than a service of its steps
// remembers the keys with which these are undone.
func (s step) lasts() {
	if s.Each == nil || s.Each.Repeat == nil || s.Each.Child == nil {
		return
	}
	r := s.Each.Repeat
	longest, _ := longestPath(s.Each.Child)
	lasts := core.Duration(r.AtMost)*longest + core.Duration(r.AtMost-1)*r.Every
	if s.Deadline > 0 {
		lasts = min(lasts, s.Deadline)
	}
	at := s.value.field("repeat").at
	says := fmt.Sprintf("the iterations of step %s may last %s in all, ", s.Name, workflow.Short(lasts))
	if s.def.Deadline > 0 && lasts > s.def.Deadline {
		s.warn(at, "%sand the deadline of the order is %s", says, s.def.Deadline).
			fix("lower atMost or the times, give the step a deadline, or make that of the order longer")
	}
	for _, inner := range s.Each.Child.Steps {
		kept := s.Each.Child.Agents[inner.Agent].KeyRetention
		if inner.Undo != nil && kept > 0 && lasts > kept {
			s.warn(at, "%sbut agent %s remembers keys for %s only: the undo of step %s in the first iteration "+
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
func (s step) until(scope expression.Scope) {
	v := s.value.get("repeat").get("until")
	if s.Each.Repeat == nil || v == nil || v.shape != isText || !s.bare(v, "until", "result.done") {
		return
	}
	text := strings.TrimSpace(v.text)
	scope.Result = true
	scope.Condition = true
	s.expression(v.at, text, scope)
	child := s.Each.Child
	switch {
	case !judges.MatchString(text):
		s.error(v.at, "until is the same after each iteration, because it reads neither result nor index").
			fix("read the output of the iteration that has ended, as in until: result.done")
	case child != nil && child.Output == nil && parts.MatchString(text):
		s.error(v.at, "until reads a part of result, and the iterations of step %s have no output", s.key).
			fix("add it to the workflow or block, as in output: {done: true}")
	}
	s.Each.Repeat.Until = text
}
