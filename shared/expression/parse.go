package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// Scope lists the names that an expression may refer to.
type Scope struct {
	// Steps holds all steps of the workflow.
	Steps []string
	// Visible holds the steps whose output the expression may read: those that its step comes after, directly
	// or not, because only their outputs are the same at every evaluation (P12, effects are emitted again).
	// Nil means all steps.
	Visible map[string]bool
	// Value allows the expression to read the value of an answer, as value.
	Value bool
	// Answered holds the steps that end with an answer, and whether they ask particular people. Nil means
	// that the expression makes no tokens (P39, a token is an answer's permission).
	Answered map[string]bool
	// Decided has the steps of Answered as its keys. The output of these steps has only the members of
	// core.Decided. Nil allows every member.
	Decided map[string]bool
	// Item allows the expression to read an element of a list, as item, and its place, as index.
	Item bool
	// Step is the step of the expression, or "" for the workflow's output.
	Step string
	// Undo marks an expression in the input of the step's undo. It may read the step's own output, but must
	// also work without it, because the output may be lost (P24, an undo needs no output).
	Undo bool
	// Skippable holds the steps that may be skipped, with their conditions. The output of a skipped step is
	// null. So an expression must read its members with ?., unless When or the expression itself ensures that
	// the step was not skipped.
	Skippable map[string]string
	// Continues holds the steps whose failure does not stop the order. The output of such a step is null
	// after its failure, and only these steps have the property failed. Nil means that all steps have it.
	Continues map[string]bool
	// When is the condition that holds if the expression is evaluated; "" means no condition.
	When string
}

// program is a checked expression. It is immutable.
type program struct {
	source string
	root   ast.Node
	path   *path               // set if the expression is a plain path, whose JSON is copied unchanged
	steps  map[ast.Node]string // nodes that read a step's output, and the step
	facts  map[ast.Node]fact   // nodes that read a step's failure

	tokens bool // the expression makes tokens (P39)
}

// newProgram returns a program without steps and facts. The check of the tree adds them.
func newProgram(source string, root ast.Node) *program {
	return &program{source: source, root: root, steps: map[ast.Node]string{}, facts: map[ast.Node]fact{}}
}

// iterators lists the functions that run a predicate for each element of a list.
var iterators = map[string]bool{
	"all": true, "any": true, "count": true, "filter": true, "map": true, "sum": true,
}

// settings returns the settings of the library's parser. Only the functions that this package implements
// exist.
func settings() *conf.Config {
	c := conf.CreateNew()
	c.MaxNodes = MaxNodes
	c.DisableIfOperator = true
	for name := range builtin.Index {
		if !iterators[name] && functions[name].call == nil {
			c.Disabled[name] = true
			delete(c.Builtins, name)
		}
	}
	return c
}

// parse reads and checks one expression.
func parse(source string, scope Scope) (*program, error) {
	p, err := parseProgram(source, scope)
	if err != nil {
		return nil, at(source, err)
	}
	return p, nil
}

func parseProgram(source string, scope Scope) (*program, error) {
	switch {
	case strings.TrimSpace(source) == "":
		return nil, fail("it is empty", "write what the value is, as in order.total")
	case len(source) > MaxSource:
		return nil, fail(fmt.Sprintf("it has %d bytes, the limit is %d", len(source), MaxSource),
			"let the agent compute it")
	}
	tree, err := parser.ParseWithConfig(source, settings())
	if err != nil {
		return nil, syntaxFailure(err)
	}
	c := &check{scope: scope, program: newProgram(source, tree.Node)}
	if err := c.node(tree.Node, 0); err != nil {
		if dashed := dashedName(source, scope.Steps); dashed != nil {
			return nil, dashed
		}
		return nil, err
	}
	c.program.path = pathOf(c.program, tree.Node)
	return c.program, nil
}

// fixComment names the most frequent cause: the # of a predicate.
const fixComment = "complete it; in YAML, put it in quotes if it holds a # after a blank, which starts a " +
	"comment"

const fixSyntax = "write one expression, as in order.total * 2; a text stands in quotes, == compares, " +
	"docs/reference/expressions.md has the language"

// syntaxFailure keeps the library's reason and removes the picture of the source below it.
func syntaxFailure(err error) error {
	f := &file.Error{Message: "it cannot be read"}
	_ = errors.As(err, &f) // the library returns only this type
	if strings.Contains(f.Message, "exceeds maximum allowed nodes") {
		return fail(fmt.Sprintf("it has more than %d parts", MaxNodes), "let the agent compute it")
	}
	what := f.Message + fmt.Sprintf(" (character %d)", f.Column+1)
	if strings.Contains(f.Message, "token EOF") {
		return fail(what, fixComment)
	}
	if strings.Contains(f.Message, `Operator(":")`) {
		return fail(what,
			"an object that a predicate gives stands in parentheses, as in map(order.items, ({sku: .sku}))")
	}
	return fail(what, fixSyntax)
}
