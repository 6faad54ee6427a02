package expression

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// functionToken is the name of the function that makes tokens (P39, a token is an answer's permission).
const functionToken = "token"

// token returns a token for answers to the step args[0]. If args[1] names a person, the token is only for the
// answer of this person.
func token(e *evaluation, args []any) (any, error) {
	step := args[0].(string)
	person := ""
	if len(args) > 1 {
		var ok bool
		person, ok = args[1].(string)
		if !ok || person == "" {
			return nil, mismatch("token", "the name of a person as a text", args[1])
		}
	}
	if e.env.Token == nil {
		return nil, fail("this deployment has no key for tokens",
			"deploy one, as docs/how-to/answer-links.md shows")
	}
	text, err := e.env.Token(step, person)
	if err != nil {
		return nil, fail(err.Error(), "")
	}
	return text, e.meter.charge(costOfToken)
}

// costOfToken is the charge for the hash of a few hundred bytes.
const costOfToken = 100

func (c *check) token(arguments []ast.Node) error {
	if c.scope.Answered == nil {
		return fail(
			"a token stands in the input of a call only: it is never stored, and not the "+
				"same elsewhere",
			"send it with the input of the agent that asks, as in ask: {agent: mail, operation: ask, "+
				"input: {link: ...}}")
	}
	step, ok := arguments[0].(*ast.StringNode)
	if !ok {
		return fail("the step of a token is computed", "write its name in quotes, as in token('approve')")
	}
	asks, ok := c.scope.Answered[step.Value]
	if !ok {
		names := make([]string, 0, len(c.scope.Answered))
		for _, name := range c.scope.Steps {
			if _, ok := c.scope.Answered[name]; ok {
				names = append(names, name)
			}
		}
		return fail("token names "+step.Value+", which is no approval or event of this workflow",
			suggest.DidYouMean(step.Value, names, "the approvals and events are: "+strings.Join(names, ", ")))
	}
	if asks && len(arguments) < 2 {
		return fail("this token names no person, and step "+step.Value+
			" asks who answers (need, who or notSelf)",
			"name the person, as in token('"+step.Value+"', order.approver)")
	}
	c.program.tokens = true
	return nil
}
