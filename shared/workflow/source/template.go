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
	answered := b.answered()
	all := expression.Scope{
		Steps: b.readable(namesOf(b.def)), Skippable: b.conditions(), Continues: b.continues(), Outputs: b.outputs(),
		Members: b.members(), Outside: b.outside(),
	}
	if b.schema != nil {
		all.Order = b.schema.Part()
	}
	for i, f := range b.steps {
		s := &b.def.Steps[i]
		scope := all
		scope.Step = s.Name
		scope.Visible = b.order.visible(i)
		s.When = b.when(f.value.get("when"), scope)
		scope.When = s.When
		b.deadlineAt(f, s, scope)
		b.reminderInput(f, s, scope, answered)
		if form := formOf(f.value); form != nil {
			form.expressions(b, f, s, scope)
			continue
		}
		made := scope
		if s.Agent != "" {
			made.Answered = answered
		}
		s.Input = b.template(f.value.get("input"), "input", made)
		if s.Undo != nil {
			scope.Undo = true
			s.Undo.Input = b.template(f.value.get("undo").get("input"), "input", scope)
		}
	}
	b.def.Output = b.template(b.root.get("output"), "output", all)
}

// outputs returns the members of the steps' outputs. A call determines its output itself, and the other workflow that
// of its only child.
func (b *builder) outputs() map[string][]string {
	all := map[string][]string{}
	for i, f := range b.steps {
		s := &b.def.Steps[i]
		switch e := s.Each; {
		case s.Kind() == core.KindWait, s.Kind() == core.KindFail:
			all[s.Name] = nil
		case s.Answer != nil:
			all[s.Name] = []string{"value", "by", "at"}
		case e == nil:
		case e.Repeat != nil:
			all[s.Name] = []string{"count", "exhausted", "last"}
		case f.value.field("each") == nil && e.Child != nil && e.Child.Output == nil:
			all[s.Name] = nil
		case f.value.field("each") == nil:
		case e.Collect:
			all[s.Name] = []string{"count", "failed", "results", "won"}
		default:
			all[s.Name] = []string{"count", "failed"}
		}
	}
	return all
}

func (b *builder) conditions() map[string]string {
	conditions := map[string]string{}
	for _, f := range b.steps {
		if v := f.value.get("when"); v != nil && v.shape == isText {
			conditions[f.key] = strings.TrimSpace(v.text)
		}
	}
	return conditions
}

// continues returns the steps with onFailure or onDeadline: continue (P42, orders can go on after failures).
func (b *builder) continues() map[string]bool {
	names := map[string]bool{}
	for i := range b.def.Steps {
		if s := &b.def.Steps[i]; s.OnFailure == core.OnFailureContinue || s.OnDeadline == core.OnFailureContinue {
			names[b.def.Steps[i].Name] = true
		}
	}
	return names
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
