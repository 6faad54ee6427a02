package expression

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

// function is one of the plain functions: it gets the values of its arguments.
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
	"int":    {1, 1, toInt},
	"float":  {1, 1, toFloat},
	"min":    {1, 16, extreme("min", -1)},
	"max":    {1, 16, extreme("max", 1)},
	"upper":  {1, 1, onText("upper", strings.ToUpper)},
	"lower":  {1, 1, onText("lower", strings.ToLower)},

	"addTime": {2, 2, addTime},
	"token":   {1, 2, token},
}

// functionNames lists all functions for an error text.
func functionNames() []string {
	names := make([]string, 0, len(functions)+len(iterators))
	for name := range functions {
		names = append(names, name)
	}
	for name := range iterators {
		names = append(names, name)
	}
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
		if args[i], err = e.eval(arguments[i]); err != nil {
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
	text, err := appendValue(nil, args[0], 0)
	if err != nil {
		return nil, err
	}
	return string(text), e.meter.charge(len(text))
}

func toInt(e *evaluation, args []any) (any, error) {
	switch v := args[0].(type) {
	case int64:
		return v, nil
	case string:
		if err := e.meter.charge(len(v)); err != nil {
			return nil, err
		}
		i, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, fail("int is given a text that is no whole number", "")
		}
		return i, nil
	}
	f, ok := float(args[0])
	if !ok {
		return nil, mismatch("int", "a number or a text", args[0])
	}
	if f = math.Trunc(f); f < -(1<<63) || f >= 1<<63 || math.IsNaN(f) {
		return nil, fail("the number does not fit into a 64-bit integer", "")
	}
	return int64(f), nil
}

func toFloat(e *evaluation, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		if err := e.meter.charge(len(s)); err != nil {
			return nil, err
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, fail("float is given a text that is no number", "")
		}
		return finite(f)
	}
	f, ok := float(args[0])
	if !ok {
		return nil, mismatch("float", "a number or a text", args[0])
	}
	return finite(f)
}

// extreme finds the least or the greatest of its arguments, or of the one list that it is given.
func extreme(name string, sign int) func(*evaluation, []any) (any, error) {
	return func(e *evaluation, args []any) (any, error) {
		if list, ok := args[0].([]any); ok && len(args) == 1 {
			args = list
		}
		if err := e.meter.charge(len(args)); err != nil {
			return nil, err
		}
		var best any
		for _, v := range args {
			if _, ok := float(v); !ok {
				return nil, mismatch(name, "numbers", v)
			}
			if best == nil || compareNumbers(v, best)*sign > 0 {
				best = v
			}
		}
		return best, nil
	}
}

func onText(name string, change func(string) string) func(*evaluation, []any) (any, error) {
	return func(e *evaluation, args []any) (any, error) {
		s, ok := args[0].(string)
		if !ok {
			return nil, mismatch(name, "a text", args[0])
		}
		if err := e.meter.charge(len(s)); err != nil {
			return nil, err
		}
		return change(s), nil
	}
}

// addTime moves a time in RFC 3339 by a time span, like "-72h" or "3d".
func addTime(_ *evaluation, args []any) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, mismatch("addTime", "a time in RFC 3339 as a text", args[0])
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, fail("addTime is given a text that is no time in RFC 3339", "give one like 2026-01-31T08:00:00Z")
	}
	if text, ok = args[1].(string); !ok {
		return nil, mismatch("addTime", "a time span as a text", args[1])
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
		return nil, fail("addTime is given a text that is no time span", "give one like '-72h', '90m' or '3d'")
	}
	if t = t.Add(span); t.Year() < 0 || t.Year() > 9999 {
		return nil, fail("addTime leaves the years 0 to 9999", "")
	}
	return t.Format(time.RFC3339Nano), nil
}

// maxDays is how many of them fit into a time span.
const maxDays = 100_000
