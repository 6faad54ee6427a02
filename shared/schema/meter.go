package schema

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of a validation. The library itself has no limits. A validation can take very long if the schema
// refers to itself in several branches, or contains long lists of values.
const (
	// MaxValidation limits the work of one validation, for each 16 KiB of the value. One unit of work takes
	// at most two microseconds and 150 bytes.
	MaxValidation = 100_000
	maxPattern    = 2_000 // largest number of instructions in a regular expression
)

var errValidation = errors.New("the budget of a validation is used up")

// metered makes each part of a schema count the units of its work. It replaces the Format of the part,
// because the library calls Format before it visits the members, elements and alternatives of a value. If the
// budget is used up, Format returns an error, and the library does not visit these values.
//
// The library compares a value with the type, const and enum of a part before it calls the part's Format.
// Therefore the enclosing part counts these comparisons. For the root, validate counts them.
func metered(root *jsonschema.Schema) (*Schema, error) {
	s := &Schema{root: root}
	done := map[*jsonschema.Schema]bool{}
	for _, part := range All(root) {
		if part.DynamicRef != nil || part.RecursiveRef != nil {
			return nil, fmt.Errorf("it has a $dynamicRef or a $recursiveRef; write $ref")
		}
		if circular(part, done) {
			return nil, fmt.Errorf("a $ref leads back to itself; let it refer to a field or an element")
		}
		cost := costOf(part)
		for _, p := range subschemas(part) {
			cost.each += 2 + comparison(p)
		}
		s.meter(part, cost)
	}
	return s, nil
}

// All returns a schema and all schemas within it and behind its references, each once.
func All(root *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{root}
	seen := map[*jsonschema.Schema]bool{root: true}
	for i := 0; i < len(all); i++ {
		for _, p := range subschemas(all[i]) {
			if !seen[p] {
				seen[p] = true
				all = append(all, p)
			}
		}
	}
	return all
}

func (s *Schema) meter(part *jsonschema.Schema, cost validationCost) {
	asserted := part.Format
	part.Format = &jsonschema.Format{Name: "format", Validate: func(v any) error {
		s.left -= cost.of(v)
		if s.left < 0 {
			return errValidation
		}
		if asserted == nil {
			return nil
		}
		return asserted.Validate(v)
	}}
}

// validate checks v against the schema. The argument size is the length of the value in bytes. validate
// returns an error if the work exceeds the budget for this size.
func (s *Schema) validate(v any, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	budget := MaxValidation * (1 + size>>14)
	s.left = budget - comparison(s.root)
	err := s.root.Validate(v)
	if s.left < 0 {
		return fmt.Errorf("checking it against the schema takes more than %d steps of work; send less, or "+
			"let the schema branch less", budget)
	}
	return err
}

// validationCost is the cost of checking a value against one part of a schema, in units of work. The cost
// includes the comparisons of inner parts, but not their other work.
type validationCost struct {
	each    int  // cost of the value itself, and of each member or element
	name    int  // cost of each 16 bytes of a member's name
	text    int  // cost of each 16 bytes of a text
	unique  bool // elements are compared with each other
	asserts bool // a format is checked
}

func costOf(s *jsonschema.Schema) validationCost {
	c := validationCost{
		each: 1 + len(s.Required) + len(s.Dependencies) + len(s.DependentRequired), text: 1,
		unique: s.UniqueItems, asserts: s.Format != nil,
	}
	for _, names := range s.DependentRequired {
		c.each += len(names)
	}
	for _, d := range s.Dependencies {
		if names, ok := d.([]string); ok {
			c.each += len(names)
		}
	}
	c.text += instructions(s.Pattern)
	for p := range s.PatternProperties {
		c.name += instructions(p)
	}
	return c
}

func (c validationCost) of(v any) int {
	switch v := v.(type) {
	case string:
		text := c.text
		if c.asserts {
			text += 16
		}
		return c.each + text*(1+len(v)/16)
	case []any:
		n := c.each * (1 + len(v))
		if c.unique {
			n += min(len(v), 20) * size(v)
		}
		return n
	case map[string]any:
		n := c.each * (1 + len(v))
		for name := range v {
			n += (1 + c.name) * (1 + len(name)/16)
		}
		return n
	}
	return c.each
}

// comparison returns the cost of comparing a value with the const and the enum of a part.
func comparison(s *jsonschema.Schema) int {
	n := 0
	if s.Const != nil {
		n += size(*s.Const)
	}
	if s.Enum != nil {
		n += size(s.Enum.Values)
	}
	return n
}

// size returns the number of values in v. Each 16 bytes of a text count as one more value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v) / 16
	case []any:
		for _, e := range v {
			n += size(e)
		}
	case map[string]any:
		for name, e := range v {
			n += 1 + len(name)/16 + size(e)
		}
	}
	return n
}

func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	var parts []*jsonschema.Schema
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			parts = appendSchemas(parts, v.Field(i))
		}
	}
	return parts
}

func appendSchemas(parts []*jsonschema.Schema, v reflect.Value) []*jsonschema.Schema {
	switch v.Kind() {
	case reflect.Interface:
		return appendSchemas(parts, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			parts = appendSchemas(parts, v.Index(i))
		}
	case reflect.Map:
		for m := v.MapRange(); m.Next(); {
			parts = appendSchemas(parts, m.Value())
		}
	case reflect.Pointer:
		if s, ok := v.Interface().(*jsonschema.Schema); ok && s != nil {
			parts = append(parts, s)
		}
	}
	return parts
}

type pattern struct {
	*regexp.Regexp
	instructions int
}

func compilePattern(text string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxPattern {
		return nil, fmt.Errorf("it has %d instructions, the limit is %d; repeat less", n, maxPattern)
	}
	compiled, err := regexp.Compile(text)
	return pattern{compiled, len(program.Inst)}, err
}

func instructions(p jsonschema.Regexp) int {
	if p, ok := p.(pattern); ok {
		return p.instructions
	}
	return 0
}
