package agentsfile

import (
	"cmp"
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
	"github.com/goccy/go-yaml/parser"

	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

func explained(err error, data []byte) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return errors.New(yaml.FormatError(err, false, false))
	}
	key := e.GetToken().Value
	what := e.GetMessage()
	fix := "check the indentation and the brackets here and in the line before"
	var field *yaml.UnknownFieldError
	var kind *yaml.TypeError
	var node *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &field):
		var file any
		_ = yaml.Unmarshal(data, &file) // the file has been parsed before, so this cannot fail
		known := knownFields(reflect.TypeFor[settings.File](), file, key)
		what = fmt.Sprintf("unknown field %.60s", key)
		fix = suggest.DidYouMean(key, known, "known here: "+strings.Join(known, ", "))
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
	at := e.GetToken().Position
	return fmt.Errorf("line %d, column %d: %s; fix: %s", at.Line, at.Column, what, fix)
}

// misread returns an error for the first number, size or duration that the decoder would round, or refuse without its
// place. It also refuses a zero, because the zero value of these fields means the default. A fraction may be 0.
func misread(t reflect.Type, node ast.Node) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		return misread(t, n.Value)
	case ast.MapNode:
		for each := n.MapRange(); each.Next(); {
			inner := fieldsOf(t)[each.Key().GetToken().Value]
			switch {
			case each.Key().IsMergeKey():
				inner = t
			case t.Kind() == reflect.Map:
				inner = t.Elem()
			case inner == nil:
				continue // the decoder reports an unknown field
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
			return fmt.Errorf("line %d, column %d: %.60q is not what is expected here; fix: write %s", at.Position.Line,
				at.Position.Column, at.Value, expected(t))
		}
		numbers := []reflect.Kind{reflect.Int, reflect.Int64}
		if slices.Contains(numbers, t.Kind()) && zero.MatchString(at.Value) {
			return fmt.Errorf("line %d, column %d: %.60s is not possible here; fix: write another value, or leave the "+
				"field out for its default", at.Position.Line, at.Position.Column, at.Value)
		}
	}
	return nil
}

// zero matches the zeros of whole numbers, sizes and durations.
var zero = regexp.MustCompile(`^(0[0.]*[ A-Za-z]*)+$`)

// unnamed returns the place of the first agent without a name, such as one with the key null. It returns "" if the
// text does not show the place.
func unnamed(data []byte) string {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return ""
	}
	path, err := yaml.PathString("$.agents")
	if err != nil {
		return ""
	}
	node, err := path.FilterFile(file)
	agents, found := node.(ast.MapNode)
	if err != nil || !found {
		return ""
	}
	for each := agents.MapRange(); each.Next(); {
		key := each.Key()
		if at := key.GetToken(); key.Type() == ast.NullType || at.Value == "" {
			return fmt.Sprintf("line %d, column %d: ", at.Position.Line, at.Position.Column)
		}
	}
	return ""
}

// knownFields finds the first part of the file that contains the unknown field key. It returns the
// fields that this part may have.
func knownFields(t reflect.Type, part any, key string) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	given, ok := part.(map[string]any)
	if !ok {
		return nil
	}
	fields := fieldsOf(t)
	if _, there := given[key]; there && t.Kind() == reflect.Struct && fields[key] == nil {
		return slices.Sorted(maps.Keys(fields))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		inner := fields[name]
		if t.Kind() == reflect.Map {
			inner = t.Elem()
		}
		if inner == nil {
			continue
		}
		if known := knownFields(inner, given[name], key); known != nil {
			return known
		}
	}
	return nil
}

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
	set := func(name string) bool { return os.Getenv(name) != "" }
	unset = slices.DeleteFunc(settings.Variables(c), set)
	for name, a := range c.Agents {
		c.Agents[name] = a.WithExamples(set)
	}
	c, err = completed(file, c, func(name string) (string, bool) { return cmp.Or(os.Getenv(name), "unset"), true })
	return c, unset, err
}
