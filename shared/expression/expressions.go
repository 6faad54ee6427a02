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

// Check returns an *Error if the expression is invalid, and otherwise nil.
func Check(source string, scope Scope) error {
	_, err := parse(source, scope)
	return err
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
	input    *template
	child    *template // order of a child
	undo     *template
	deadline *template // absolute deadline
	reminder *template
	enough   *template // how many children must end well
	when     *program
	until    *program // condition that ends a repeat
	refuse   *program
	answer   *schema.Schema   // schema of an event's value
	passed   []*schema.Schema // schemas of the events that the step passes on
}

var _ core.Expressions = (*Expressions)(nil)

// Compile compiles all expressions of a definition. It returns no error for a definition that package source
// has checked.
func Compile(d *core.Definition) (*Expressions, error) {
	scope := Scope{Steps: make([]string, len(d.Steps))}
	answered := map[string]bool{}
	for i := range d.Steps {
		scope.Steps[i] = d.Steps[i].Name
		if d.Steps[i].Answer != nil {
			answered[d.Steps[i].Name] = false // package source has checked the persons of tokens
		}
	}
	c := &compiler{}
	x := &Expressions{steps: make([]step, len(d.Steps))}
	for i := range d.Steps {
		x.steps[i] = c.step(&d.Steps[i], scope, answered)
		if c.err != nil {
			return nil, fmt.Errorf("workflow %s, step %s: %w", d.Name, d.Steps[i].Name, c.err)
		}
	}
	x.order = c.schema("schema of orders", d.Order)
	x.output = c.template(d.Output, scope)
	if c.err != nil {
		return nil, fmt.Errorf("workflow %s: %w", d.Name, c.err)
	}
	return x, nil
}

// compiler compiles the parts of a definition. After an error it compiles no more.
type compiler struct{ err error }

func (c *compiler) template(data json.RawMessage, scope Scope) (t *template) {
	if c.err == nil && len(data) > 0 {
		t, c.err = parseTemplate(data, scope)
	}
	return t
}

func (c *compiler) condition(source string, scope Scope) (p *program) {
	if c.err == nil && source != "" {
		p, c.err = parse(source, scope)
	}
	return p
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

func (c *compiler) step(s *core.StepDefinition, scope Scope, answered map[string]bool) (x step) {
	call := scope
	call.Answered = answered
	of := scope
	if s.Agent != "" {
		of = call
	}
	x.input = c.template(s.Input, of)
	x.deadline = c.template(s.DeadlineAt, scope)
	x.when = c.condition(s.When, scope)
	if s.Remind != nil {
		call.Reminder = true
		x.reminder = c.template(s.Remind.Input, call)
	}
	if s.Each != nil {
		c.children(s.Each, scope, &x)
	}
	if s.Undo != nil {
		x.undo = c.template(s.Undo.Input, scope)
	}
	if s.Answer != nil {
		x.answer = c.schema("schema", s.Answer.Schema)
		scope.Value = true
		x.refuse = c.condition(s.Answer.Refuse, scope)
	}
	return x
}

// children compiles what a step with child orders evaluates.
func (c *compiler) children(e *core.Each, scope Scope, x *step) {
	x.enough = c.template(e.Enough, scope)
	for _, event := range e.Events {
		x.passed = append(x.passed, c.schema("event "+event.Name, event.Schema))
	}
	of := scope
	of.Item = e.Repeat == nil
	of.Repeat = e.Repeat != nil
	x.child = c.template(e.Order, of)
	if e.Repeat != nil {
		scope.Result = true
		x.until = c.condition(e.Repeat.Until, scope)
	}
}

// MakesTokens reports whether an input makes tokens (P39, a token is an answer's permission).
func (x *Expressions) MakesTokens() bool {
	return slices.ContainsFunc(x.steps, func(s step) bool { return s.input.makesTokens() || s.reminder.makesTokens() })
}

func (t *template) makesTokens() bool {
	return t != nil && slices.ContainsFunc(t.holes, func(p *program) bool { return p.tokens })
}

// Input evaluates the input of a step. It returns nil if the step has no input.
func (x *Expressions) Input(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.steps[step].input, &env)
}

// InputReads returns the sorted names of the steps whose outputs or failures the input of a step reads.
func (x *Expressions) InputReads(step int) []string {
	reads := map[string]bool{}
	if t := x.steps[step].input; t != nil {
		for _, p := range t.holes {
			// The loops read the maps in any order, because slices.Sorted sorts the names.
			for _, name := range p.steps {
				reads[name] = true
			}
			for _, f := range p.facts { // read in any order, as above
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
	text, err := evaluate(x.steps[step].input, &env)
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

// Enough evaluates how many children of a step must end well.
func (x *Expressions) Enough(step int, env core.Environment) (int, error) {
	text, err := evaluate(x.steps[step].enough, &env)
	if err != nil {
		return 0, err
	}
	var n core.Whole
	if n.UnmarshalJSON(text) != nil {
		return 0, errors.New("the value of enough is no whole number")
	}
	return int(n), nil
}

// ChildOrder evaluates the content of a child order. It returns nil if the step has no template for child
// orders.
func (x *Expressions) ChildOrder(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.steps[step].child, &env)
}

// Deadline evaluates the absolute deadline of a step. It returns nil if the step has none.
func (x *Expressions) Deadline(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.steps[step].deadline, &env)
}

// Reminder evaluates the input of a step's reminder. It returns nil if the reminder has no input.
func (x *Expressions) Reminder(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.steps[step].reminder, &env)
}

// UndoInput evaluates the input of a step's undo. It returns nil if the undo has no input of its own.
func (x *Expressions) UndoInput(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.steps[step].undo, &env)
}

// Output evaluates the output of the workflow. It returns nil if the workflow has no output.
func (x *Expressions) Output(env core.Environment) (json.RawMessage, error) {
	return evaluate(x.output, &env)
}

func evaluate(t *template, env *core.Environment) (json.RawMessage, error) {
	if t == nil {
		return nil, nil
	}
	return t.evaluate(env)
}

// When evaluates the condition of a step. It returns true if the step has no condition.
func (x *Expressions) When(step int, env core.Environment) (bool, error) {
	return condition("when", x.steps[step].when, &env, true)
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

// Refused evaluates the condition refuse of a step. It reports whether the value of an answer is a refusal,
// and returns false if the step has no such condition.
func (x *Expressions) Refused(step int, env core.Environment) (bool, error) {
	return condition("refuse", x.steps[step].refuse, &env, false)
}

// Until evaluates the condition that ends the repeat of a step.
func (x *Expressions) Until(step int, env core.Environment) (bool, error) {
	return condition("until", x.steps[step].until, &env, true)
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
