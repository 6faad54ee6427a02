package expression

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

type function struct {
	min, max int
	call     func(e *evaluation, args []any) (any, error)
}

func (f function) arity() string {
	if f.min == f.max {
		return strconv.Itoa(f.min)
	}
	return fmt.Sprintf("%d to %d", f.min, f.max)
}

var functions = map[string]function{
	"len":    {1, 1, length},
	"string": {1, 1, toString},
	"lower":  {1, 1, lower},

	"addTime": {2, 2, addTime},
	"token":   {1, 2, token},
}

func functionNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(functions)), maps.Keys(iterators))
	slices.Sort(names)
	return names
}

func (e *evaluation) builtin(n *ast.BuiltinNode) (any, error) {
	if iterators[n.Name] {
		return e.iterate(n)
	}
	return e.call(n.Name, n.Arguments)
}

func (e *evaluation) call(name string, arguments []ast.Node) (any, error) {
	args := make([]any, len(arguments))
	for i := range arguments {
		var err error
		args[i], err = e.eval(arguments[i])
		if err != nil {
			return nil, err
		}
	}
	return functions[name].call(e, args)
}

func length(e *evaluation, args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), e.meter.charge(len(v))
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return nil, mismatch("len", "a text, a list or an object", args[0])
}

func toString(e *evaluation, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		return s, nil
	}
	text, err := appendValue(nil, args[0])
	if err != nil {
		return nil, err
	}
	return string(text), e.meter.charge(len(text))
}

func lower(e *evaluation, args []any) (any, error) {
	s, ok := args[0].(string)
	if !ok {
		return nil, mismatch("lower", "a text", args[0])
	}
	return strings.ToLower(s), e.meter.charge(len(s))
}

// addTime adds a time span, such as "-72h" or "3d", to a time in RFC 3339.
func addTime(e *evaluation, args []any) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, mismatch("addTime", "a time in RFC 3339 as a text", args[0])
	}
	if err := e.meter.charge(costOfTime + len(text)); err != nil {
		return nil, err
	}
	t, err := core.ParseTime(text)
	if err != nil {
		return nil, fail("addTime got a text that is not a time in RFC 3339",
			"pass a time like 2026-01-31T08:00:00Z")
	}
	text, ok = args[1].(string)
	if !ok {
		return nil, mismatch("addTime", "a time span as a text", args[1])
	}
	if err := e.meter.charge(len(text)); err != nil {
		return nil, err
	}
	span, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		n, err = strconv.Atoi(days)
		span = time.Duration(n) * 24 * time.Hour
		if n < -maxDays || n > maxDays {
			err = strconv.ErrRange
		}
	}
	if err != nil {
		return nil, fail("addTime got a text that is not a time span",
			"pass a time span like '-72h', '90m' or '3d', at most 100000d")
	}
	t = t.Add(span)
	if t.Year() < 0 || t.Year() > 9999 {
		return nil, fail("the result of addTime is outside the years 0 to 9999", fixValue)
	}
	return t.Format(time.RFC3339Nano), nil
}

const costOfTime = 5 // steps of addTime, besides one for each byte of its texts

const maxDays = 100_000

func (e *evaluation) iterate(n *ast.BuiltinNode) (any, error) {
	v, err := e.eval(n.Arguments[0])
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, mismatch(n.Name, "a list", v)
	}
	var predicate ast.Node
	if len(n.Arguments) > 1 {
		predicate = n.Arguments[1]
	}
	switch n.Name {
	case "map":
		return e.mapped(list, predicate)
	case "sum":
		return e.sum(list, predicate)
	}
	return e.search(n.Name, list, predicate)
}

// each evaluates the predicate once for every element, and calls visit with the result. In the predicate, #
// is the current element. Without a predicate, the result is the element. each stops when visit returns true
// or an error.
func (e *evaluation) each(list []any, predicate ast.Node,
	visit func(i int, v any) (stop bool, err error),
) error {
	e.element = append(e.element, item{})
	top := len(e.element) - 1
	defer func() { e.element = e.element[:top] }()
	for i, element := range list {
		e.element[top] = item{element, i}
		v := element
		var err error
		if predicate != nil {
			v, err = e.eval(predicate)
		} else {
			err = e.meter.charge(1)
		}
		if err != nil {
			return err
		}
		if stop, err := visit(i, v); stop || err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) mapped(list []any, predicate ast.Node) (any, error) {
	result := make([]any, 0, len(list))
	err := e.each(list, predicate, func(_ int, v any) (bool, error) {
		result = append(result, v)
		return false, nil
	})
	return result, err
}

func (e *evaluation) sum(list []any, predicate ast.Node) (any, error) {
	var total any = int64(0)
	err := e.each(list, predicate, func(_ int, v any) (bool, error) {
		if _, ok := decimal(v); !ok {
			return true, mismatch("sum", "numbers", v)
		}
		var err error
		total, err = arithmetic(e, "+", total, v)
		return err != nil, err
	})
	return total, err
}

func (e *evaluation) search(name string, list []any, predicate ast.Node) (any, error) {
	found := 0
	result := []any{}
	err := e.each(list, predicate, func(i int, v any) (bool, error) {
		yes, ok := v.(bool)
		if !ok {
			return true, mismatch("the condition of "+name, "true or false", v)
		}
		if yes {
			found++
			if name == "filter" {
				result = append(result, list[i])
			}
		}
		switch name {
		case "any":
			return yes, nil
		case "all":
			return !yes, nil
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	switch name {
	case "filter":
		return result, nil
	case "count":
		return int64(found), nil
	case "all":
		return found == len(list), nil
	}
	return found > 0, nil // name is "any"
}

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
