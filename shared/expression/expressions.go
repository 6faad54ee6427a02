package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

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
	inputs []*template // inputs by step; nil if a step has no input
	orders []*template // templates of child orders, by step
	undos  []*template
	whens  []*program

	deadlines []*template // absolute deadlines, by step
	reminders []*template // inputs of reminders, by step
	untils    []*program  // conditions that end a repeat, by step
	enough    []*template // how many children must end well, by step
	refusals  []*program
	output    *template
	schemas   []*schema.Schema   // schemas of event values, by step; nil means that any value is valid
	passed    [][]*schema.Schema // schemas of the events that steps pass on, by step; nil means that any value is valid
	order     *schema.Schema     // schema of orders; nil means that any order is valid
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
	n := len(d.Steps)
	x := &Expressions{
		inputs: make([]*template, n), orders: make([]*template, n), undos: make([]*template, n),
		whens: make([]*program, n), refusals: make([]*program, n), untils: make([]*program, n),
		reminders: make([]*template, n), deadlines: make([]*template, n), enough: make([]*template, n),
		schemas: make([]*schema.Schema, n), passed: make([][]*schema.Schema, n),
	}
	for i := range d.Steps {
		if err := x.compileStep(i, &d.Steps[i], scope, answered); err != nil {
			return nil, fmt.Errorf("workflow %s, step %s: %w", d.Name, d.Steps[i].Name, err)
		}
	}
	var err error
	if len(d.Order) > 0 {
		x.order, err = schema.Compile(d.Order)
		if err != nil {
			return nil, fmt.Errorf("workflow %s, schema of orders: %w", d.Name, err)
		}
	}
	if len(d.Output) > 0 {
		x.output, err = parseTemplate(d.Output, scope)
		if err != nil {
			return nil, fmt.Errorf("workflow %s, output: %w", d.Name, err)
		}
	}
	return x, nil
}

// MakesTokens reports whether an input makes tokens (P39, a token is an answer's permission).
func (x *Expressions) MakesTokens() bool {
	for _, t := range slices.Concat(x.inputs, x.reminders) {
		if t != nil && slices.ContainsFunc(t.holes, func(p *program) bool { return p.tokens }) {
			return true
		}
	}
	return false
}

// compileChildren compiles what a step with child orders evaluates.
func (x *Expressions) compileChildren(i int, e *core.Each, scope Scope) (err error) {
	if len(e.Order) > 0 {
		with := scope
		with.Item = e.Repeat == nil
		with.Repeat = e.Repeat != nil
		x.orders[i], err = parseTemplate(e.Order, with)
		if err != nil {
			return err
		}
	}
	x.passed[i] = make([]*schema.Schema, len(e.Events))
	for n, event := range e.Events {
		if event.Schema == nil {
			continue
		}
		x.passed[i][n], err = schema.Compile(event.Schema)
		if err != nil {
			return fmt.Errorf("event %s: %w", event.Name, err)
		}
	}
	if len(e.Enough) > 0 {
		x.enough[i], err = parseTemplate(e.Enough, scope)
		if err != nil {
			return err
		}
	}
	if e.Repeat != nil {
		with := scope
		with.Result = true
		x.untils[i], err = parse(e.Repeat.Until, with)
	}
	return err
}

func (x *Expressions) compileStep(i int, s *core.StepDefinition, scope Scope,
	answered map[string]bool,
) (err error) {
	if len(s.Input) > 0 {
		of := scope
		if s.Agent != "" {
			of.Answered = answered
		}
		x.inputs[i], err = parseTemplate(s.Input, of)
		if err != nil {
			return err
		}
	}
	if len(s.DeadlineAt) > 0 {
		x.deadlines[i], err = parseTemplate(s.DeadlineAt, scope)
		if err != nil {
			return err
		}
	}
	if s.Remind != nil && len(s.Remind.Input) > 0 {
		with := scope
		with.Answered = answered
		with.Reminder = true
		x.reminders[i], err = parseTemplate(s.Remind.Input, with)
		if err != nil {
			return err
		}
	}
	if s.Each != nil {
		err = x.compileChildren(i, s.Each, scope)
		if err != nil {
			return err
		}
	}
	if s.Undo != nil && len(s.Undo.Input) > 0 {
		x.undos[i], err = parseTemplate(s.Undo.Input, scope)
		if err != nil {
			return err
		}
	}
	if s.When != "" {
		x.whens[i], err = parse(s.When, scope)
		if err != nil {
			return err
		}
	}
	if s.Answer != nil && s.Answer.Schema != nil {
		x.schemas[i], err = schema.Compile(s.Answer.Schema)
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	if s.Answer != nil && s.Answer.Refuse != "" {
		scope.Value = true
		x.refusals[i], err = parse(s.Answer.Refuse, scope)
	}
	return err
}

// Input evaluates the input of a step. It returns nil if the step has no input.
func (x *Expressions) Input(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.inputs[step], &env)
}

// InputReads returns the sorted names of the steps whose outputs or failures the input of a step reads.
func (x *Expressions) InputReads(step int) []string {
	reads := map[string]bool{}
	if t := x.inputs[step]; t != nil {
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
	text, err := evaluate(x.inputs[step], &env)
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
	text, err := evaluate(x.enough[step], &env)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, errors.New("the value of enough is no whole number")
	}
	return n, nil
}

// ChildOrder evaluates the content of a child order. It returns nil if the step has no template for child
// orders.
func (x *Expressions) ChildOrder(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.orders[step], &env)
}

// Deadline evaluates the absolute deadline of a step. It returns nil if the step has none.
func (x *Expressions) Deadline(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.deadlines[step], &env)
}

// Reminder evaluates the input of a step's reminder. It returns nil if the reminder has no input.
func (x *Expressions) Reminder(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.reminders[step], &env)
}

// UndoInput evaluates the input of a step's undo. It returns nil if the undo has no input of its own.
func (x *Expressions) UndoInput(step int, env core.Environment) (json.RawMessage, error) {
	return evaluate(x.undos[step], &env)
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

// Refused evaluates the condition refuse of a step. It reports whether the value of an answer is a refusal,
// and returns false if the step has no such condition.
func (x *Expressions) Refused(step int, env core.Environment) (bool, error) {
	return condition("refuse", x.refusals[step], &env, false)
}

// Until evaluates the condition that ends the repeat of a step.
func (x *Expressions) Until(step int, env core.Environment) (bool, error) {
	return condition("until", x.untils[step], &env, true)
}

// CheckAnswer returns an error if the value of an event does not match the schema of the step.
func (x *Expressions) CheckAnswer(step int, value json.RawMessage) error {
	return x.schemas[step].Check(value)
}

// CheckPassed returns an error if a value does not match the schema of an event that the step passes on.
func (x *Expressions) CheckPassed(step, event int, value json.RawMessage) error {
	return x.passed[step][event].Check(value)
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
