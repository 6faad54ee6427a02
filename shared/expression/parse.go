package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// Scope lists what an expression may read. It depends on where the expression stands in the workflow.
type Scope struct {
	// Steps contains the names of all steps of the workflow.
	Steps []string
	// Visible contains all direct and indirect predecessors of the expression's step. The expression may read
	// only their outputs, because other outputs may change between evaluations (P12, effects are emitted
	// again). nil means that the expression may read the outputs of all steps.
	Visible map[string]bool
	// Condition reports whether the value of the expression must be true or false.
	Condition bool
	// Value reports whether the expression may read the value of an answer, as value.
	Value bool
	// Answered contains the steps that wait for an answer. The value is true if a token for the step must
	// name a person. nil means that the expression must not make tokens (P39, a token is an answer's
	// permission).
	Answered map[string]bool
	// Outputs contains the members of the output of each step whose kind determines them. An empty list means that the
	// step never has an output. The output of any other step may have every member.
	Outputs map[string][]string
	// Item reports whether the expression may read item and index. item is an element of the list for which a
	// step starts child orders, and index is the position of the element.
	Item bool
	// Repeat reports whether the expression may read previous and index. previous is the output of the iteration
	// before, which is null for the first one. The expression must read its members with ?.
	Repeat bool
	// Result reports whether the expression may read result and index. result is the output of the iteration that has
	// ended.
	Result bool
	// Reminder reports whether the expression may read reminder, the number of the reminder.
	Reminder bool
	// Step is the step to which the expression belongs, or "" for the output of the workflow.
	Step string
	// Undo reports whether the expression is in the input of an undo. The expression may then read the output
	// of its own step. That output may be lost, so the expression must read the output's members with ?.
	// (P24, an undo needs no output).
	Undo bool
	// Skippable contains the steps that may be skipped, with their conditions. The output of a skipped step
	// is null, so the expression must read the output's members with ?. instead of a plain dot. A plain dot
	// is allowed if When or a condition in the expression ensures that the step was not skipped.
	Skippable map[string]string
	// Continues contains the steps with onFailure: continue. The output of such a step is null after a
	// failure. Only these steps have the properties failed and error. nil means that every step has these
	// properties.
	Continues map[string]bool
	// Members contains the members of each step with any, whose properties are first, won and outputs. nil means
	// that every step has these properties.
	Members map[string][]string
	// Outside contains the steps around the block of the expression. Only the input of the block can read them.
	Outside []string
	// Order and Element are the schemas of order and item. The zero values allow every path.
	Order, Element schema.Part
	// When is the condition of the step. It is true when the expression is evaluated. "" means no condition.
	When string
}

// program is a checked expression. It is immutable.
type program struct {
	source string
	root   ast.Node
	result schema.Part       // schema of the value
	path   *path             // set if the expression is only a path
	facts  map[ast.Node]fact // properties of steps that the nodes read

	tokens  bool     // the expression makes tokens (P39)
	unknown []*Error // paths that the schema of the order does not declare
}

func newCheck(source string, root ast.Node, scope Scope) *check {
	p := &program{source: source, root: root, facts: map[ast.Node]fact{}}
	return &check{scope: scope, program: p, parts: map[ast.Node]schema.Part{}}
}

var iterators = map[string]bool{
	"all": true, "any": true, "count": true, "filter": true, "map": true, "sum": true,
}

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

func parse(source string, scope Scope) (*program, error) {
	p, err := parseProgram(source, scope)
	if err != nil {
		return nil, at(source, err)
	}
	return p, nil
}

// halfPair matches the escape of half a surrogate pair. The parser would replace it by U+FFFD.
var halfPair = regexp.MustCompile(`(^|[^\\])(\\\\)*\\[uU](0000|\{0*)?[dD][89a-fA-F][0-9a-fA-F]{2}`)

func parseProgram(source string, scope Scope) (*program, error) {
	switch {
	case strings.TrimSpace(source) == "":
		return nil, fail("it is empty", "write what the value is, as in order.total")
	case len(source) > MaxSource:
		return nil, fail(fmt.Sprintf("it has %d bytes, the limit is %d", len(source), MaxSource),
			"let the agent compute it")
	case halfPair.MatchString(source):
		return nil, fail("it has the escape of one half of a surrogate pair, which is no character",
			"write the character itself, or the escape of the whole, as in \\U0001F600")
	}
	tree, err := parser.ParseWithConfig(source, settings())
	switch {
	case err != nil && strings.Contains(source, "${"):
		return nil, fail("another ${ stands in it", fixJoin)
	case err != nil:
		return nil, syntaxFailure(err)
	}
	c := newCheck(source, tree.Node, scope)
	if err := c.node(tree.Node); err != nil {
		if dashed := dashedName(source, scope.Steps); dashed != nil {
			return nil, dashed
		}
		return nil, err
	}
	if scope.Condition && neverBoolean(tree.Node) {
		return nil, fail("it is never true or false", "compare it, as in len(order.items) > 0 or order.total > 0")
	}
	c.program.path = pathOf(c.program, tree.Node)
	c.program.result = c.parts[tree.Node]
	return c.program, nil
}

// fixComment is the remedy for an incomplete expression. The most frequent cause is a # in the expression,
// because in YAML a # starts a comment.
const fixComment = "complete it; in YAML, put it in quotes if it holds a # after a blank, which starts a " +
	"comment"

const fixSyntax = "write one expression, as in order.total * 2; a text stands in quotes, == compares, " +
	"docs/reference/expressions.md has the language"

// syntaxFailure converts an error of the parser. It omits the source, because the function named at adds it.
func syntaxFailure(err error) error {
	f := &file.Error{Message: "it cannot be read"}
	_ = errors.As(err, &f) // the parser returns only this type
	if strings.Contains(f.Message, "exceeds maximum allowed nodes") {
		return fail(fmt.Sprintf("it has more than %d parts", MaxNodes), "let the agent compute it")
	}
	if strings.Contains(f.Message, "value out of range") {
		return fail("a number in it is beyond 64 bits, or beyond 1.8e308",
			"put the number into the order, and pass it on")
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
