package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// check walks a syntax tree once. It refuses the constructs that this package does not evaluate, and finds the
// paths that the schema of the order does not declare.
type check struct {
	scope   Scope
	program *program
	// results of notSkipped for all conditions that are certainly met at the current node
	done     []string
	elements []schema.Part            // schemas of # in the predicates around the node, innermost last
	parts    map[ast.Node]schema.Part // schemas of the nodes that read the order
}

// node checks n.
func (c *check) node(n ast.Node) error {
	err := c.construct(n)
	if err == nil {
		c.declared(n)
	}
	return err
}

func (c *check) construct(n ast.Node) error {
	switch n := n.(type) {
	case nil, *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
		return nil
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.BuiltinNode:
		return c.builtin(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.PointerNode:
		if n.Name != "" && n.Name != "index" {
			return fail("#"+n.Name+" does not exist", "use # for the element and #index for its place")
		}
		return nil
	case *ast.CallNode:
		return c.call(n)
	case *ast.UnaryNode:
		return c.node(n.Node)
	case *ast.ChainNode:
		return c.node(n.Node)
	case *ast.PredicateNode:
		return c.node(n.Node)
	case *ast.SliceNode:
		return c.all(n.Node, n.From, n.To)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.ArrayNode:
		return c.all(n.Nodes...)
	case *ast.MapNode:
		return c.all(n.Pairs...)
	case *ast.PairNode:
		return c.all(n.Key, n.Value)
	}
	return fail("it uses a construct that workflows do not have",
		"write one expression, without let and semicolons")
}

func (c *check) all(nodes ...ast.Node) error {
	for _, n := range nodes {
		if err := c.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) identifier(n *ast.IdentifierNode) error {
	if name, some := c.seen()[n.Value]; some {
		if name.here {
			return nil
		}
		return fail("unknown name "+n.Value, name.only)
	}
	switch n.Value {
	case "order", "orderId", "run":
		return nil
	case "steps":
		return fail("steps stands alone", "name a step and its output, as in steps.charge_payment.output")
	case "null", "undefined", "None":
		return fail("unknown name "+n.Value,
			"write nil, as in order.discount == nil; or give a default with ??")
	}
	return fail("unknown name "+n.Value,
		suggest.DidYouMean(n.Value, []string{"order", "orderId", "steps", "value"},
			"there are order, orderId, run and steps.<name>.output; a field of the order is order."+n.Value+
				", a text stands in quotes"))
}

// someSee is a name that only some expressions can read.
type someSee struct {
	here bool   // this expression can
	only string // which ones can
}

func (c *check) seen() map[string]someSee {
	const items = "only the input of the children of each sees item and index"
	return map[string]someSee{
		"value": {
			c.scope.Value, "only the condition refuse of an answered step sees value; a field of the order is order.value",
		},
		"item":     {c.scope.Item, items},
		"index":    {c.scope.Item || c.scope.Repeat || c.scope.Result, items},
		"previous": {c.scope.Repeat, "only the input of a step with repeat sees previous"},
		"result":   {c.scope.Result, "only the condition until of a repeat sees result"},
		"reminder": {c.scope.Reminder, "only the input of remind sees reminder, the number of the reminder"},
	}
}

func (c *check) call(n *ast.CallNode) error {
	name := "this"
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		name = callee.Value
		if functions[name].call != nil {
			return c.arguments(name, n.Arguments)
		}
	case *ast.MemberNode:
		if s, ok := callee.Property.(*ast.StringNode); ok {
			name = s.Value
		}
		if slices.Contains(functionNames(), name) {
			return fail(name+" is called as a method", "give the value as its first argument, as in "+name+"("+
				shorten(callee.Node.String(), maxQuoted)+")")
		}
	}
	switch name {
	case "now", "date", "duration", "timezone":
		return fail(name+
			" does not exist: an expression has no clock, because a repeated evaluation must give the "+
			"same",
			"put the time into the order")
	}
	return noFunction(name)
}

func noFunction(name string) error {
	names := functionNames()
	return fail("there is no function "+name,
		suggest.DidYouMean(name, names, "these functions exist: "+strings.Join(names, ", ")))
}

func (c *check) member(n *ast.MemberNode) error {
	if step, property, ok := ofStep(n); ok {
		return c.step(n, step, property)
	}
	if err := c.node(n.Node); err != nil {
		if id, ok := n.Node.(*ast.IdentifierNode); ok && id.Value == "steps" {
			return c.stepAlone(n)
		}
		return err
	}
	if c.scope.Undo && !n.Optional && c.program.outputOf(n.Node) == c.scope.Step {
		return fail("the undo relies on the output of its own step, which may be lost",
			"write output?. and let the agent undo by the key alone where it is null")
	}
	if id, ok := unchain(n.Node).(*ast.IdentifierNode); ok && id.Value == "previous" && !n.Optional {
		return fail("it reads a member of previous, which is null in the first iteration",
			"write previous?. with ?? for a default, as in previous?.next ?? order.first")
	}
	if err := cmp.Or(c.skipped(n), c.known(n), c.outputs(n)); err != nil {
		return err
	}
	return c.node(n.Property)
}

// known returns an error if n reads a member that the output of a step never has.
func (c *check) known(n *ast.MemberNode) error {
	step := c.program.outputOf(n.Node)
	members, known := c.scope.Outputs[step]
	s, named := n.Property.(*ast.StringNode)
	switch {
	case known && len(members) == 0:
		return fail("it reads a part of the output of step "+step+", which never has one",
			"read the output of a step that has one, or the order")
	case !known || !named || slices.Contains(members, s.Value):
		return nil
	case s.Value == "results":
		return fail("the output of step "+step+" has no results", "write collect: true in step "+step)
	}
	return fail("the output of step "+step+" has no "+s.Value,
		suggest.DidYouMean(s.Value, members, "it has "+strings.Join(members, ", ")))
}

func (c *check) stepAlone(n *ast.MemberNode) error {
	s, ok := n.Property.(*ast.StringNode)
	if !ok {
		return fail("a step must be read by its written name, not by a number or a computed name",
			"write steps.<name>.output; the steps are "+strings.Join(underscored(c.scope.Steps), ", "))
	}
	name := s.Value
	if !slices.Contains(underscored(c.scope.Steps), strings.ReplaceAll(name, "-", "_")) {
		return noStep(name, c.scope.Steps)
	}
	return fail("steps."+name+" is read without its output", "write steps."+name+".output")
}

// properties are those of a step that expressions read.
var properties = []string{factOutput, factFailed, factError, factFirst, factWon, factOutputs}

// ofStep splits an access such as steps.<name>.output into the step's name and the property. ok is false for
// every other access.
func ofStep(n *ast.MemberNode) (step, property string, ok bool) {
	p, ok := n.Property.(*ast.StringNode)
	if !ok || !slices.Contains(properties, p.Value) {
		return "", "", false
	}
	inner, ok := unchain(n.Node).(*ast.MemberNode)
	if !ok {
		return "", "", false
	}
	id, ok := inner.Node.(*ast.IdentifierNode)
	name, named := inner.Property.(*ast.StringNode)
	if !ok || id.Value != "steps" || !named {
		return "", "", false
	}
	return name.Value, p.Value, true
}

func unchain(n ast.Node) ast.Node {
	for {
		chain, ok := n.(*ast.ChainNode)
		if !ok {
			return n
		}
		n = chain.Node
	}
}

// step checks an access to a property of a step. The author may write underscores for dashes in the name of
// the step.
func (c *check) step(n *ast.MemberNode, written, property string) error {
	for _, step := range c.scope.Steps {
		if written != step && written != strings.ReplaceAll(step, "-", "_") {
			continue
		}
		if step == c.scope.Step && !c.scope.Undo {
			return fail("it reads the "+reads(property)+
				" of its own step, which is not known before the step is done",
				"read an earlier step, or the order")
		}
		if step != c.scope.Step && c.scope.Visible != nil && !c.scope.Visible[step] {
			return fail("it reads the "+reads(property)+" of step "+step+", which may still be running then",
				"add "+step+" to the step's after")
		}
		return c.fact(n, fact{step, property})
	}
	return cmp.Or(c.ofMember(written), c.ofOutside(written), noStep(written, c.scope.Steps))
}

// ofOutside returns an error if a step of a block reads a step around the block.
func (c *check) ofOutside(written string) error {
	if !slices.Contains(underscored(c.scope.Outside), written) {
		return nil
	}
	return fail("step "+written+" is outside of the block, whose steps see only its input",
		"give it to the block, as in input: {"+written+": \"${ steps."+written+".output }\"}, and read order."+written)
}

func noStep(written string, steps []string) error {
	names := underscored(steps)
	return fail("there is no step "+written, suggest.DidYouMean(written, names,
		"write steps.<name>.output; the steps are "+strings.Join(names, ", ")))
}

// builtin checks the call of a function. Inside a predicate, a loop may run only over the current element.
// Nested loops therefore visit each part of the data only once.
func (c *check) builtin(n *ast.BuiltinNode) error {
	if !iterators[n.Name] {
		if functions[n.Name].call == nil {
			return noFunction(n.Name)
		}
		return c.arguments(n.Name, n.Arguments)
	}
	if len(c.elements) > 0 && !ofElement(n.Arguments[0]) {
		return fail("inside a predicate, "+n.Name+" goes over something else than the element at hand",
			"loop over # or its fields only; for membership use the operator in")
	}
	if err := c.node(n.Arguments[0]); err != nil {
		return err
	}
	c.elements = append(c.elements, c.parts[n.Arguments[0]].Element())
	defer func() { c.elements = c.elements[:len(c.elements)-1] }()
	return c.all(n.Arguments[1:]...)
}

func (c *check) arguments(name string, arguments []ast.Node) error {
	f := functions[name]
	if len(arguments) < f.min || len(arguments) > f.max {
		return fail(fmt.Sprintf("%s has %d arguments, it takes %s", name, len(arguments), f.arity()),
			"correct their number; docs/reference/expressions.md shows each function")
	}
	if name == functionToken {
		if err := c.token(arguments); err != nil {
			return err
		}
	}
	return c.all(arguments...)
}

// ofElement reports whether n is the current element of a predicate, or a part of that element.
func ofElement(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.PointerNode:
		return n.Name == ""
	case *ast.MemberNode:
		return ofElement(n.Node)
	case *ast.ChainNode:
		return ofElement(n.Node)
	case *ast.SliceNode:
		return ofElement(n.Node)
	case *ast.ArrayNode:
		return len(n.Nodes) == 0 // [] as the default of a missing list
	case *ast.BuiltinNode:
		return (n.Name == "filter" || n.Name == "map") && ofElement(n.Arguments[0])
	case *ast.BinaryNode:
		return n.Operator == "??" && ofElement(n.Left) && ofElement(n.Right)
	}
	return false
}

func (c *check) binary(n *ast.BinaryNode) error {
	if _, ok := operators[n.Operator]; !ok && !lazyOperators[n.Operator] {
		return fail("the operator "+n.Operator+" does not exist here", fixSyntax)
	}
	if err := c.node(n.Left); err != nil {
		return err
	}
	switch n.Operator {
	case "&&", "and":
		return c.given(c.program.notSkipped(n.Left, true), n.Right)
	case "||", "or":
		return c.given(c.program.notSkipped(n.Left, false), n.Right)
	}
	return c.node(n.Right)
}

// neverBoolean reports whether the value of a node is certainly neither true nor false.
func neverBoolean(n ast.Node) bool {
	switch n := unchain(n).(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.ArrayNode, *ast.MapNode, *ast.SliceNode,
		*ast.CallNode:
		return true
	case *ast.BuiltinNode:
		return n.Name != "all" && n.Name != "any"
	case *ast.UnaryNode:
		return n.Operator == "-" || n.Operator == "+"
	case *ast.BinaryNode:
		return strings.Contains("+-*/%", n.Operator) ||
			n.Operator == "??" && neverBoolean(n.Left) && neverBoolean(n.Right)
	case *ast.ConditionalNode:
		return neverBoolean(n.Exp1) && neverBoolean(n.Exp2)
	case *ast.IdentifierNode:
		return slices.Contains([]string{"orderId", "run", "index"}, n.Value)
	}
	return false
}
