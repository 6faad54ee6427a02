package agentsfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

func explained(err error) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return errors.New(yaml.FormatError(err, false, false))
	}
	key := e.GetToken().Value
	what := e.GetMessage()
	fix := "check the indentation and the brackets here and in the line before"
	var kind *yaml.TypeError
	var node *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &kind):
		what = fmt.Sprintf("%.60q is not what is expected here", key)
		fix = "write " + expected(kind.DstType)
	case errors.As(err, &node):
		what = fmt.Sprintf("%.60q is not what is expected here", key)
		fix = "write fields below it, each as NAME: VALUE"
		if node.Expected == ast.SequenceType {
			fix = "write a list, like [a, b]"
		}
	default:
		if tab, replace := source.Tab(what); tab != "" {
			what = tab
			fix = replace
		}
	}
	return problem(e.GetToken(), what, fix)
}

func problem(at *token.Token, what, fix string) error {
	return fmt.Errorf("line %d, column %d: %s; fix: %s", at.Position.Line, at.Position.Column, what, fix)
}

// misread returns an error for the first field that is unknown or has no name, and for the first number, size or
// duration that the decoder would round, or refuse without its place. It also refuses a zero, because the zero value of
// these fields means the default. A fraction may be 0.
func misread(t reflect.Type, node ast.Node) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		return misread(t, n.Value)
	case ast.MapNode:
		fields := fieldsOf(t)
		for each := n.MapRange(); each.Next(); {
			at := each.Key().GetToken()
			inner := fields[at.Value]
			switch {
			case each.Key().IsMergeKey():
				inner = t
			case t.Kind() == reflect.Map && (at.Value == "" || each.Key().Type() == ast.NullType):
				return problem(at, "an entry has no name",
					`write one before the colon; a name that YAML reads otherwise needs quotes, like "null"`)
			case t.Kind() == reflect.Map:
				inner = t.Elem()
			case inner == nil && len(fields) > 0:
				known := slices.Sorted(maps.Keys(fields))
				return problem(at, fmt.Sprintf("unknown field %.60s", at.Value),
					suggest.DidYouMean(at.Value, known, "known here: "+strings.Join(known, ", ")))
			case inner == nil:
				return nil // the decoder reports that no fields belong here
			}
			if err := misread(inner, each.Value()); err != nil {
				return err
			}
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
		at := n.GetToken()
		var err error
		switch t {
		case reflect.TypeFor[time.Duration]():
			_, err = time.ParseDuration(at.Value)
		case reflect.TypeFor[int]():
			_, err = strconv.Atoi(at.Value)
		}
		if err != nil {
			return problem(at, fmt.Sprintf("%.60q is not what is expected here", at.Value), "write "+expected(t))
		}
		numbers := []reflect.Kind{reflect.Int, reflect.Int64}
		if slices.Contains(numbers, t.Kind()) && zero.MatchString(at.Value) {
			return problem(at, fmt.Sprintf("%.60s is not possible here", at.Value),
				"write another value, or leave the field out for its default")
		}
	}
	return nil
}

// zero matches the zeros of whole numbers, sizes and durations.
var zero = regexp.MustCompile(`^(0[0.]*[ A-Za-z]*)+$`)

// fieldsOf returns the types of a struct's fields by their names in a file.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return fields
	}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" {
			fields[name] = field.Type
		}
	}
	return fields
}

func expected(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration in ms, s, m or h, like 10s"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return "a whole number"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Slice:
		return "a list, like [a, b]"
	case t.Kind() == reflect.String:
		return "a text"
	}
	return "fields below it, each as NAME: VALUE"
}

// Check checks an agents file. It uses placeholders for environment variables that are not set, so it works
// on a machine that does not run the agents. It returns the names of the unset variables.
func Check(file string) (c settings.File, unset []string, err error) {
	c, err = ReadFile(file)
	if err != nil {
		return c, nil, err
	}
	unset, err = settings.References(c)
	if err != nil {
		return c, nil, fmt.Errorf("%w %s: %w", ErrFile, file, err)
	}
	unset = slices.DeleteFunc(unset, func(name string) bool { return os.Getenv(name) != "" })
	c, err = completed(file, c, settings.Variables{
		Lookup: os.LookupEnv, Unknown: func(name string) bool { return slices.Contains(unset, name) },
	})
	return c, unset, err
}
