package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// skipped returns an error if n reads a member of an output that may be null, and does not use ?. for this
// read. If the output were null, the expression and its step would fail.
func (c *check) skipped(n *ast.MemberNode) error {
	step := c.program.outputOf(n.Node)
	if step == "" || n.Optional || slices.Contains(c.done, step) {
		return nil
	}
	why := c.mayBeNull(step)
	if why == "" {
		return nil
	}
	output := "steps." + strings.ReplaceAll(step, "-", "_") + ".output"
	member := "[…]"
	optional := "?.[…]"
	if s, ok := n.Property.(*ast.StringNode); ok {
		member = "." + s.Value
		optional = "?." + s.Value
	}
	return fail(fmt.Sprintf("it reads %s of the output of step %s, which is null where that step %s", member,
		step, why),
		"write "+output+optional+", with ?? for a default, or give this step "+c.guardOf(step))
}

// mayBeNull returns why the output of a step may be null here, or "" if the output cannot be null.
func (c *check) mayBeNull(step string) string {
	condition, skippable := c.scope.Skippable[step]
	_, here := conjunction(c.scope.When, c.scope)
	var given []string
	if here != nil {
		given = here.notSkipped(here.root, true)
	}
	switch {
	case slices.Contains(given, step):
	case skippable && !c.follows(condition):
		return "is skipped (when: " + shorten(condition, maxQuoted) + ")"
	case c.scope.Continues[step] && !slices.Contains(append(given, c.done...), notFailed(step)):
		return "has failed (onFailure: continue)"
	}
	return ""
}

// guardOf returns the advice for an error text: a condition under which the output of the step is not null.
func (c *check) guardOf(step string) string {
	if c.scope.Continues[step] {
		return "the condition not steps." + strings.ReplaceAll(step, "-", "_") + ".failed"
	}
	return "the same when"
}

// follows reports whether the given condition is certainly true if c.scope.When is true. This holds if each
// part of the condition is also a part of c.scope.When.
func (c *check) follows(condition string) bool {
	here, p := conjunction(c.scope.When, c.scope)
	if p == nil {
		return false
	}
	there, _ := conjunction(condition, c.scope)
	return len(there) > 0 && !slices.ContainsFunc(there,
		func(part string) bool { return !slices.Contains(here, part) })
}

// conjunction splits a condition into the parts that && joins. p is nil if the condition is empty or has a
// syntax error. The function parse reports syntax errors.
func conjunction(condition string, scope Scope) (parts []string, p *program) {
	if condition == "" {
		return nil, nil
	}
	tree, err := parser.ParseWithConfig(condition, settings())
	if err != nil {
		return nil, nil
	}
	scope.When = ""
	scope.Skippable = nil
	scope.Continues = nil
	c := newCheck(condition, tree.Node, scope)
	_ = c.node(tree.Node) // records the outputs that the condition reads; parse reports the errors
	var split func(n ast.Node)
	split = func(n ast.Node) {
		if b, ok := n.(*ast.BinaryNode); ok && (b.Operator == "&&" || b.Operator == "and") {
			split(b.Left)
			split(b.Right)
			return
		}
		parts = append(parts, n.String())
	}
	split(tree.Node)
	return parts, c.program
}

// notSkipped draws conclusions from the value of the condition n, which is holds. The result contains:
//   - the names of the steps whose output is certainly not null
//   - the results of notFailed for the steps that have certainly not failed
func (p *program) notSkipped(n ast.Node, holds bool) []string {
	if f, ok := p.facts[unchain(n)]; ok && f.name == factFailed && !holds {
		return []string{notFailed(f.step)}
	}
	switch n := n.(type) {
	case *ast.UnaryNode:
		if n.Operator == "!" || n.Operator == "not" {
			return p.notSkipped(n.Node, !holds)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and", "||", "or":
			if holds == (n.Operator == "&&" || n.Operator == "and") {
				return append(p.notSkipped(n.Left, holds), p.notSkipped(n.Right, holds)...)
			}
		case "==", "!=":
			step := p.comparedToNull(n.Left, n.Right)
			if step == "" {
				step = p.comparedToNull(n.Right, n.Left)
			}
			if step != "" && holds == (n.Operator == "!=") {
				return []string{step}
			}
		}
	}
	return nil
}

func (p *program) comparedToNull(output, null ast.Node) string {
	if _, ok := null.(*ast.NilNode); !ok {
		return ""
	}
	return p.outputOf(output)
}

// notFailed returns an entry for the results of notSkipped. It cannot be the name of a step.
func notFailed(step string) string { return "not failed: " + step }

// given checks a node. The conclusions in steps come from notSkipped. They are true whenever the node is
// evaluated.
func (c *check) given(steps []string, n ast.Node) error {
	before := len(c.done)
	c.done = append(c.done, steps...)
	defer func() { c.done = c.done[:before] }()
	return c.node(n)
}

func (c *check) conditional(n *ast.ConditionalNode) error {
	if err := c.node(n.Cond); err != nil {
		return err
	}
	if err := c.given(c.program.notSkipped(n.Cond, true), n.Exp1); err != nil {
		return err
	}
	return c.given(c.program.notSkipped(n.Cond, false), n.Exp2)
}

func underscored(steps []string) []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = strings.ReplaceAll(s, "-", "_")
	}
	return names
}

// dashed matches a path with a dash. The parser reads the dash as a minus.
var dashed = regexp.MustCompile(`\b(order|steps)((?:\??\.[A-Za-z_][A-Za-z0-9_]*)*\??\.)([A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z_][A-Za-z0-9_]*)+)`)

var roots = []string{"order", "orderId", "run", "steps"}

// dashedName returns an error that shows how to write a name with dashes. It returns nil if the source has no
// such name, or if the dash is probably a minus.
func dashedName(source string, steps []string) error {
	m := dashed.FindStringSubmatch(source)
	switch {
	case m == nil || strings.Contains(source, m[0]+"(") ||
		slices.ContainsFunc(strings.Split(m[3], "-")[1:], func(name string) bool { return slices.Contains(roots, name) }):
		return nil
	case m[1] == "steps" && slices.Contains(steps, m[3]):
		return fail(fmt.Sprintf("the dashes of step %s are read as minus", m[3]),
			"write them as underscores: steps."+strings.ReplaceAll(m[3], "-", "_")+".output")
	case m[1] == "steps" && m[2] == ".":
		return noStep(m[3], steps)
	}
	holder, optional := strings.CutSuffix(m[1]+strings.TrimSuffix(m[2], "."), "?")
	if optional {
		holder += "?."
	}
	return fail(fmt.Sprintf("the dashes of %s are read as minus", m[3]),
		fmt.Sprintf("write %s[%q]", holder, m[3]))
}
