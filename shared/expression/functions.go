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
