package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// Check returns the fault of one expression as an *Error, or nil.
func Check(source string, scope Scope) error {
	_, err := parse(source, scope)
	return err
}

// Expressions holds the compiled templates and conditions of one definition. It is immutable and safe for
// concurrent use.
type Expressions struct {
	inputs []*template // nil if the step has no input
	orders []*template // orders of children
	undos  []*template
	whens  []*program

	refusals []*program
	output   *template
	schemas  []*schema.Schema // schemas of the values of events; nil allows any value
	order    *schema.Schema   // schema of orders; nil allows any order
}

var _ core.Expressions = (*Expressions)(nil)

// Compile compiles all expressions of a definition. An error names the step. A definition that package source
// has checked gives no error.
func Compile(d *core.Definition) (*Expressions, error) {
	scope, answered := Scope{Steps: make([]string, len(d.Steps))}, map[string]bool{}
	for i := range d.Steps {
		scope.Steps[i] = d.Steps[i].Name
		if d.Steps[i].Answer != nil {
			answered[d.Steps[i].Name] = false // package source has checked whether a token needs a person
		}
	}
	n := len(d.Steps)
	x := &Expressions{inputs: make([]*template, n), orders: make([]*template, n), undos: make([]*template, n),
		whens: make([]*program, n), refusals: make([]*program, n),
		schemas: make([]*schema.Schema, n)}
	for i := range d.Steps {
		if err := x.compileStep(i, &d.Steps[i], scope, answered); err != nil {
			return nil, fmt.Errorf("workflow %s, step %s: %w", d.Name, d.Steps[i].Name, err)
		}
	}
	var err error
	if len(d.Order) > 0 {
		if x.order, err = schema.Compile(d.Order); err != nil {
			return nil, fmt.Errorf("workflow %s, schema of orders: %w", d.Name, err)
		}
	}
	if len(d.Output) > 0 {
		if x.output, err = parseTemplate(d.Output, scope); err != nil {
			return nil, fmt.Errorf("workflow %s, output: %w", d.Name, err)
		}
	}
	return x, nil
}

// MakesTokens reports whether an input makes tokens of answers (P39, a token is an answer's permission).
func (x *Expressions) MakesTokens() bool {
	for _, t := range x.inputs {
		if t != nil && slices.ContainsFunc(t.holes, func(p *program) bool { return p.tokens }) {
			return true
		}
	}
	return false
}

func (x *Expressions) compileStep(i int, s *core.StepDefinition, scope Scope,
	answered map[string]bool) (err error) {
	if len(s.Input) > 0 {
		of := scope
		if s.Agent != "" {
			of.Answered = answered
		}
		if x.inputs[i], err = parseTemplate(s.Input, of); err != nil {
			return err
		}
	}
	if s.Each != nil && len(s.Each.Order) > 0 {
		with := scope
		with.Item = true
		if x.orders[i], err = parseTemplate(s.Each.Order, with); err != nil {
			return err
		}
	}
	if s.Undo != nil && len(s.Undo.Input) > 0 {
		if x.undos[i], err = parseTemplate(s.Undo.Input, scope); err != nil {
			return err
		}
	}
	if s.When != "" {
		if x.whens[i], err = parse(s.When, scope); err != nil {
			return err
		}
	}
	if s.Answer != nil && s.Answer.Schema != nil {
		if x.schemas[i], err = schema.Compile(s.Answer.Schema); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	if s.Answer != nil && s.Answer.Refuse != "" {
		scope.Value = true
		x.refusals[i], err = parse(s.Answer.Refuse, scope)
	}
	return err
}

// Input evaluates a step's input. It returns nil if the step has none.
func (x *Expressions) Input(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.inputs[step], &env)
}

// InputReads returns the names of the steps whose outputs or failures the input of a step reads, sorted.
func (x *Expressions) InputReads(step int) []string {
	reads := map[string]bool{}
	if t := x.inputs[step]; t != nil {
		for _, p := range t.holes {
			for _, name := range p.steps { // The loop runs in any order because the names are sorted below.
				reads[name] = true
			}
			for _, f := range p.facts { // This loop also runs in any order.
				reads[f.step] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(reads))
}

// Items yields the elements of the list that the input of a step evaluates to.
func (x *Expressions) Items(step int, env core.Environment,
	each func(index int, item json.RawMessage)) (count int, err error) {
	text, err := evaluate(x.inputs[step], &env)
	if err != nil {
		return 0, err
	}
	if jsontext.Value(text).Kind() != '[' {
		return 0, errors.New("each is not a list")
	}
	for item, err := range rawjson.Elements(text) {
		if err != nil {
			return count, err
		}
		each(count, item)
		count++
	}
	return count, nil
}

// ChildOrder evaluates the order of a child. It returns nil if the step has no template for it.
func (x *Expressions) ChildOrder(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.orders[step], &env)
}

// UndoInput evaluates the input of a step's undo. It returns nil if the undo has no input of its own.
func (x *Expressions) UndoInput(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.undos[step], &env)
}

// Output evaluates the workflow's output. It returns nil if there is none.
func (x *Expressions) Output(env core.Environment) (json.RawMessage, error) {
	return evaluate(x.output, &env)
}

func evaluate(t *template, env *core.Environment) (json.RawMessage, error) {
	if t == nil {
		return nil, nil
	}
	return t.evaluate(env)
}

// When evaluates a step's condition. A step without one always runs.
func (x *Expressions) When(step int, env core.Environment) (bool, error) {
	return condition("when", x.whens[step], &env, true)
}

func condition(what string, p *program, env *core.Environment, absent bool) (bool, error) {
	if p == nil {
		return absent, nil
	}
	v, err := p.value(env)
	if err == nil {
		if yes, ok := v.(bool); ok {
			return yes, nil
		}
		err = mismatch(what, "true or false", v)
	}
	return false, at(p.source, err)
}

// Refused reports whether the value of an answer is a refusal. Without a condition no value is a refusal.
func (x *Expressions) Refused(step int, env core.Environment) (bool, error) {
	return condition("refuse", x.refusals[step], &env, false)
}

// CheckAnswer returns an error if a value does not match the schema of an event.
func (x *Expressions) CheckAnswer(step int, value json.RawMessage) error {
	return x.schemas[step].Check(value)
}

// CheckOrder returns an error if an order does not match the workflow's schema.
func (x *Expressions) CheckOrder(order json.RawMessage) error {
	return x.order.Check(order)
}

// value evaluates one program. It reads a plain path without decoding the whole document.
func (p *program) value(env *core.Environment) (any, error) {
	if p.path == nil {
		e := evaluation{env: env}
		return e.run(p)
	}
	raw, err := p.path.raw(env)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}
