package expression

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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
	"abs":    {1, 1, absolute},
	"ceil":   {1, 1, rounding(math.Ceil)},
	"floor":  {1, 1, rounding(math.Floor)},
	"round":  {1, 1, rounding(math.Round)},
	"min":    {1, 16, extreme("min", -1)},
	"max":    {1, 16, extreme("max", 1)},
	"upper":  {1, 1, onText("upper", strings.ToUpper)},
	"lower":  {1, 1, onText("lower", strings.ToLower)},
	"trim":   {1, 1, onText("trim", strings.TrimSpace)},
	"split":  {2, 2, split},
	"join":   {1, 2, join},
	"first":  {1, 1, end("first", 0)},
	"last":   {1, 1, end("last", -1)},
	"keys":   {1, 1, keys},
	"values": {1, 1, values},
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
	args := make([]any, len(n.Arguments))
	for i := range n.Arguments {
		var err error
		if args[i], err = e.eval(n.Arguments[i]); err != nil {
			return nil, err
		}
	}
	return functions[n.Name].call(e, args)
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

func absolute(e *evaluation, args []any) (any, error) {
	f, ok := float(args[0])
	if !ok {
		return nil, mismatch("abs", "a number", args[0])
	}
	if f < 0 {
		return arithmetic(e, "-", int64(0), args[0])
	}
	return args[0], nil
}

// rounding gives a whole number where it fits into an integer.
func rounding(round func(float64) float64) func(*evaluation, []any) (any, error) {
	return func(_ *evaluation, args []any) (any, error) {
		if i, ok := args[0].(int64); ok {
			return i, nil
		}
		f, ok := float(args[0])
		if !ok {
			return nil, mismatch("rounding", "a number", args[0])
		}
		if f = round(f); f >= -(1<<53) && f <= 1<<53 {
			return int64(f), nil
		}
		return finite(f)
	}
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

func split(e *evaluation, args []any) (any, error) {
	s, ok1 := args[0].(string)
	separator, ok2 := args[1].(string)
	if !ok1 || !ok2 {
		return nil, fail("split needs two texts, got "+kind(args[0])+" and "+kind(args[1]), "")
	}
	if err := e.meter.charge(2 * len(s)); err != nil {
		return nil, err
	}
	parts := strings.Split(s, separator)
	list := make([]any, len(parts))
	for i, p := range parts {
		list[i] = p
	}
	return list, nil
}

func join(e *evaluation, args []any) (any, error) {
	list, ok := args[0].([]any)
	if !ok {
		return nil, mismatch("join", "a list of texts", args[0])
	}
	separator := ""
	if len(args) == 2 {
		if separator, ok = args[1].(string); !ok {
			return nil, mismatch("join", "a text between the parts", args[1])
		}
	}
	var text strings.Builder
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, mismatch("join", "a list of texts", v)
		}
		if err := e.meter.charge(1 + len(s) + len(separator)); err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteString(separator)
		}
		text.WriteString(s)
	}
	return text.String(), nil
}

// end gives the first or the last element, or null for an empty list.
func end(name string, index int) func(*evaluation, []any) (any, error) {
	return func(_ *evaluation, args []any) (any, error) {
		list, ok := args[0].([]any)
		switch {
		case !ok:
			return nil, mismatch(name, "a list", args[0])
		case len(list) == 0:
			return nil, nil
		case index < 0:
			return list[len(list)-1], nil
		}
		return list[0], nil
	}
}

// keys are sorted, because a repeated evaluation must give the same bytes (P12).
func keys(e *evaluation, args []any) (any, error) {
	return listOf(e, "keys", args[0], func(_ map[string]any, k string) any { return k })
}

// values come in the order of their keys (P12).
func values(e *evaluation, args []any) (any, error) {
	return listOf(e, "values", args[0], func(o map[string]any, k string) any { return o[k] })
}

func listOf(e *evaluation, name string, v any, pick func(map[string]any, string) any) (any, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, mismatch(name, "an object", v)
	}
	if err := e.meter.charge(8 * len(object)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(object))
	for _, k := range sortedKeys(object) {
		list = append(list, pick(object, k))
	}
	return list, nil
}
