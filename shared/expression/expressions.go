package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// Check returns an *Error if the expression is invalid. Otherwise it returns the part of the order's schema that
// describes the value, and an error for each path that the schema does not declare.
func Check(source string, scope Scope) (value schema.Part, unknown []*Error, err error) {
	p, err := parse(source, scope)
	if err != nil {
		return value, nil, err
	}
	return p.result, p.unknown, nil
}

// Expressions contains the compiled templates and conditions of one definition. It is immutable and safe for
// concurrent use.
type Expressions struct {
	steps  []step
	output *template
	order  *schema.Schema // schema of orders; nil means that any order is valid
}

// step holds what a step evaluates. nil means that there is no such part, and that any value matches a schema.
type step struct {
	parts  [core.Parts]*template // a condition is a template with one expression
	answer *schema.Schema        // schema of an event's value
	passed []*schema.Schema      // schemas of the events that the step passes on
}

var _ core.Expressions = (*Expressions)(nil)

// Compile compiles all expressions of a definition. It returns no error for a definition that package source
// has checked. Compile does not check again which names each expression may read.
func Compile(d *core.Definition) (*Expressions, error) {
	c := &compiler{scope: Scope{
		Steps: make([]string, len(d.Steps)), Answered: map[string]bool{},
		Value: true, Item: true, Repeat: true, Result: true, Reminder: true,
	}}
	for i := range d.Steps {
		c.scope.Steps[i] = d.Steps[i].Name
		if d.Steps[i].Answer != nil {
			c.scope.Answered[d.Steps[i].Name] = false
		}
	}
	x := &Expressions{steps: make([]step, len(d.Steps))}
	for i := range d.Steps {
		x.steps[i] = c.step(&d.Steps[i])
		if c.err != nil {
			return nil, fmt.Errorf("workflow %s, step %s: %w", d.Name, d.Steps[i].Name, c.err)
		}
	}
	x.order = c.schema("schema of orders", d.Order)
	x.output = c.template(d.Output)
	if c.err != nil {
		return nil, fmt.Errorf("workflow %s: %w", d.Name, c.err)
	}
	return x, nil
}

// compiler compiles the parts of a definition. After an error it compiles no more.
type compiler struct {
	scope Scope
	err   error
}

func (c *compiler) template(data json.RawMessage) (t *template) {
	if c.err == nil && len(data) > 0 {
		t, c.err = parseTemplate(data, c.scope)
	}
	return t
}

func (c *compiler) condition(source string) *template {
	if c.err != nil || source == "" {
		return nil
	}
	p, err := parse(source, c.scope)
	c.err = err
	return &template{holes: []*program{p}}
}

func (c *compiler) schema(what string, text json.RawMessage) *schema.Schema {
	if c.err != nil || len(text) == 0 {
		return nil
	}
	s, err := schema.Compile(text)
	if err != nil {
		c.err = fmt.Errorf("%s: %w", what, err)
	}
	return s
}

func (c *compiler) step(s *core.StepDefinition) (x step) {
	x.parts[core.PartInput] = c.template(s.Input)
	x.parts[core.PartDeadline] = c.template(s.DeadlineAt)
	x.parts[core.PartWhen] = c.condition(s.When)
	if s.Undo != nil {
		x.parts[core.PartUndo] = c.template(s.Undo.Input)
	}
	if s.Remind != nil {
		x.parts[core.PartReminder] = c.template(s.Remind.Input)
	}
	if s.Answer != nil {
		x.parts[core.PartRefuse] = c.condition(s.Answer.Refuse)
		x.answer = c.schema("schema", s.Answer.Schema)
	}
	if s.Each == nil {
		return x
	}
	x.parts[core.PartChildOrder] = c.template(s.Each.Order)
	x.parts[core.PartEnough] = c.template(s.Each.Enough)
	if s.Each.Repeat != nil {
		x.parts[core.PartUntil] = c.condition(s.Each.Repeat.Until)
	}
	for _, event := range s.Each.Events {
		x.passed = append(x.passed, c.schema("event "+event.Name, event.Schema))
	}
	return x
}

// parts yields all parts of all steps, and the output.
func (x *Expressions) parts(yield func(*template) bool) {
	for i := range x.steps {
		for _, t := range x.steps[i].parts {
			if t != nil && !yield(t) {
				return
			}
		}
	}
	if x.output != nil {
		yield(x.output)
	}
}

// MakesTokens reports whether an input makes tokens (P39, a token is an answer's permission).
func (x *Expressions) MakesTokens() bool {
	for t := range x.parts {
		if slices.ContainsFunc(t.holes, func(p *program) bool { return p.tokens }) {
			return true
		}
	}
	return false
}

// Value evaluates a template of a step. It returns nil if the step has no such template.
func (x *Expressions) Value(part core.Part, step int, env core.Environment) (json.RawMessage, error) {
	return x.steps[step].parts[part].evaluate(&env)
}

// Holds evaluates a condition of a step. A condition that the step does not have is true.
func (x *Expressions) Holds(part core.Part, step int, env core.Environment) (bool, error) {
	t := x.steps[step].parts[part]
	if t == nil {
		return true, nil
	}
	p := t.holes[0]
	v, err := p.value(&env)
	if err != nil {
		return false, at(p.source, err)
	}
	yes, ok := v.(bool)
	if !ok {
		return false, at(p.source, mismatch("a condition", "true or false", v))
	}
	return yes, nil
}

// Output evaluates the output of the workflow. It returns nil if the workflow has no output.
func (x *Expressions) Output(env core.Environment) (json.RawMessage, error) {
	return x.output.evaluate(&env)
}

// InputReads returns the sorted names of the steps whose outputs or failures the input of a step reads.
func (x *Expressions) InputReads(step int) []string {
	reads := map[string]bool{}
	if t := x.steps[step].parts[core.PartInput]; t != nil {
		for _, p := range t.holes {
			for _, f := range p.facts { // in any order, because slices.Sorted sorts the names
				reads[f.step] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(reads))
}

// Items evaluates the input of a step as a list, and calls the function each for every element. It returns
// the number of elements.
func (x *Expressions) Items(step int, env core.Environment,
	each func(index int, item json.RawMessage),
) (count int, err error) {
	text, err := x.Value(core.PartInput, step, env)
	if err != nil {
		return 0, err
	}
	if jsontext.Value(text).Kind() != '[' {
		return 0, errors.New("the value of each is not a list; fix: give a list, or [] if there are no " +
			"children")
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

// CheckAnswer returns an error if the value of an event does not match the schema of the step.
func (x *Expressions) CheckAnswer(step int, value json.RawMessage) error {
	return x.steps[step].answer.Check(value)
}

// CheckPassed returns an error if a value does not match the schema of an event that the step passes on.
func (x *Expressions) CheckPassed(step, event int, value json.RawMessage) error {
	return x.steps[step].passed[event].Check(value)
}

// CheckOrder returns an error if the order does not match the schema of the workflow.
func (x *Expressions) CheckOrder(order json.RawMessage) error {
	return x.order.Check(order)
}

// value evaluates a program. If the program is only a path, value decodes only the part at the path.
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

// Usage states the size and the cost of a definition's expressions, for a comparison with the limits.
type Usage struct {
	Parts int // syntax tree nodes of the largest expression; the limit is MaxNodes
	Steps int // metered steps of the most expensive evaluation; the limit is MaxSteps
}

// Usage evaluates the conditions and the templates with the values of env. If an evaluation fails, Usage counts the
// metered steps before the failure. An evaluation can fail, for example, because env lacks an output or an item.
func (x *Expressions) Usage(env core.Environment) Usage {
	var u Usage
	for t := range x.parts {
		u.add(&env, t.holes...)
	}
	return u
}

func (u *Usage) add(env *core.Environment, programs ...*program) {
	e := evaluation{env: env}
	for _, p := range programs {
		parts := counter(0)
		ast.Walk(&p.root, &parts)
		u.Parts = max(u.Parts, int(parts))
		if p.path == nil {
			_, _ = e.run(p) // the result is not needed; run counts the steps in e.meter
		}
	}
	u.Steps = max(u.Steps, e.meter.steps)
}

type counter int

func (c *counter) Visit(*ast.Node) { *c++ }
