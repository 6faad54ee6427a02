package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// templates reads the inputs, the conditions and the output, and checks their expressions. The expressions of
// a step can read the outputs of all direct and indirect predecessors. These outputs do not change any more,
// so a repeated evaluation has the same result (P12, effects are emitted again).
func (b *builder) templates() {
	all, answered := b.scope()
	for _, s := range b.steps {
		scope := all
		scope.Step = s.Name
		if b.before != nil {
			scope.Visible = b.before[s.i]
		}
		s.When = b.when(s.value.get("when"), scope)
		scope.When = s.When
		s.deadlineAt(scope)
		s.reminderInput(scope, answered)
		if form := formOf(s.value); form != nil {
			form.expressions(s, scope)
			continue
		}
		made := scope
		if s.Agent != "" {
			made.Answered = answered
		}
		s.Input = b.template(s.value.get("input"), "input", made)
		if s.Undo != nil {
			scope.Undo = true
			s.Undo.Input = b.template(s.value.get("undo").get("input"), "input", scope)
		}
	}
	b.def.Output = b.template(b.root.get("output"), "output", all)
}

// scope returns what the expressions of all steps may read, and the steps that wait for an answer. Their value is
// true if a token for the step must name a person (P39, a token is an answer's permission). These are the steps with
// who, with notSelf, or with a need other than 1.
func (b *builder) scope() (all expression.Scope, answered map[string]bool) {
	all = expression.Scope{
		Outside: b.outside(), Skippable: map[string]string{},
		Continues: map[string]bool{}, Members: map[string][]string{}, Outputs: map[string][]string{},
	}
	if b.schema != nil {
		all.Order = b.schema.Part()
	}
	answered = map[string]bool{}
	for _, s := range b.steps {
		// A step that serves another one may end after later steps were claimed (P38, P54).
		if b.def.Serves(s.i) < 0 {
			all.Steps = append(all.Steps, s.Name)
		}
		if v := s.value.get("when"); v != nil && v.shape == isText {
			all.Skippable[s.Name] = strings.TrimSpace(v.text)
		}
		if s.OnFailure == core.OnFailureContinue || s.OnDeadline == core.OnFailureContinue {
			all.Continues[s.Name] = true // P42, orders can go on after failures
		}
		if s.Any != nil {
			all.Members[s.Name] = s.Any.Members
		}
		if members, known := s.output(); known {
			all.Outputs[s.Name] = members
		}
		if v := s.value.get(answerForm(s.value)); s.Answer != nil {
			one := b.whole(v, "need", 0) == 1
			answered[s.Name] = v.get("who") != nil || v.get("notSelf") != nil || v.get("need") != nil && !one
		}
	}
	return all, answered
}

// output returns the members of the step's output, if its kind determines them. A call determines its output itself,
// and the other workflow that of its only child.
func (s step) output() (members []string, known bool) {
	several := s.value.field("each") != nil
	switch e := s.Each; {
	case s.Kind() == core.KindWait, s.Kind() == core.KindFail:
		return nil, true
	case s.Answer != nil:
		return []string{"value", "by", "at"}, true
	case e == nil:
		return nil, false
	case e.Repeat != nil:
		return []string{"count", "exhausted", "last"}, true
	case !several:
		return nil, e.Child != nil && e.Child.Output == nil
	case e.Collect:
		return []string{"count", "failed", "results", "won"}, true
	}
	return []string{"count", "failed"}, true
}

func (b *builder) when(v *value, scope expression.Scope) string {
	if v == nil || v.shape != isText {
		return ""
	}
	if !b.bare(v, "when", "order.total > 0") {
		return ""
	}
	text := strings.TrimSpace(v.text)
	scope.Condition = true
	b.expression(v.at, text, scope)
	return text
}

func (b *builder) expression(where position, source string, scope expression.Scope) {
	_, unknown, err := expression.Check(source, scope)
	b.faulty(where, err)
	for _, e := range unknown {
		b.warn(where, "%s", e.What).fix("%s", e.Fix)
	}
}

func (b *builder) faulty(where position, err error) {
	var e *expression.Error
	switch {
	case err == nil:
	case errors.As(err, &e):
		fix := e.Fix
		e = &expression.Error{Expression: e.Expression, What: e.What}
		b.error(where, "%s", e.Error()).fix("%s", fix)
	default:
		b.error(where, "%s", err).fix("correct the expression; docs/reference/expressions.md has the language")
	}
}

// template returns a template as JSON, or nil if v is nil.
func (b *builder) template(v *value, key string, scope expression.Scope) json.RawMessage {
	if v == nil {
		return nil
	}
	holes := 0
	data := b.appendTemplate(nil, v, scope, &holes)
	switch {
	case holes > expression.MaxHoles:
		b.error(v.at, "%s holds %d expressions, the limit is %d", key, holes, expression.MaxHoles).
			fix("pass whole objects or lists")
	case len(data) > expression.MaxResult:
		b.error(v.at, "%s is larger than %d bytes", key, expression.MaxResult).
			fix("pass a reference instead of the data")
	case rawjson.Levels(data) > rawjson.MaxLevels:
		b.error(v.at, "%s is nested deeper than %d levels", key, rawjson.MaxLevels).fix("flatten it")
	}
	return data
}

// appendTemplate appends a value as JSON, and checks its expressions. It keeps the sequence of the fields.
func (b *builder) appendTemplate(data []byte, v *value, scope expression.Scope, holes *int) []byte {
	switch v.shape {
	case isBool:
		return fmt.Append(data, v.truth)
	case isNumber:
		return append(data, v.text...)
	case isText:
		text, isExpression, err := expression.Unwrap(v.text)
		b.faulty(v.at, err)
		if isExpression {
			*holes++
			b.expression(v.at, text, scope)
		} else if err == nil {
			b.literal(v)
		}
		return appendText(data, v.text)
	case isList:
		data = append(data, '[')
		for i, e := range v.list {
			if i > 0 {
				data = append(data, ',')
			}
			data = b.appendTemplate(data, e, scope, holes)
		}
		return append(data, ']')
	case isMap:
		data = append(data, '{')
		for i, f := range v.fields {
			if i > 0 {
				data = append(data, ',')
			}
			if strings.HasPrefix(f.key, "${") {
				b.error(f.at, "a key is written as an expression").
					fix("keys are literal; compute the whole object in one expression")
			}
			data = append(appendText(data, f.key), ':')
			data = b.appendTemplate(data, f.value, scope, holes)
		}
		return append(data, '}')
	}
	return append(data, "null"...)
}

// path matches a text that looks like an expression, such as order.name.
var path = regexp.MustCompile(`^(order|steps)(\??\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]+\])+$`)

// literal warns if a text was probably meant to be an expression.
func (b *builder) literal(v *value) {
	switch {
	case strings.Contains(v.text, "{{") && strings.Contains(v.text, "}}"):
		b.warn(v.at, "%s is sent as it stands: {{ }} is no expression here", v).
			fix("write ${ … } as the whole text, as in ${ order.name }; leave it where the agent fills it in")
	case path.MatchString(v.text):
		b.warn(v.at, "%s is sent as it stands: a text without ${ } is no expression", v).
			fix("write ${ %s }", v.text)
	}
}

func appendText(data []byte, s string) []byte {
	text, _ := rawjson.Marshal(s) // cannot fail, because a workflow file is UTF-8
	return append(data, text...)
}
