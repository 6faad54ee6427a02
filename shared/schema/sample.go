package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxDrawn    = 12    // number of levels that are drawn
	maxParts    = 5_000 // number of values in the sample
	maxOptional = 3     // number of levels on which optional fields are drawn
	maxText     = 10_000
)

// Samples returns at most n different values that match the schema. It returns fewer values if it cannot draw
// more, for example because a pattern has no examples.
func (s *Schema) Samples(n int) (drawn []json.RawMessage) {
	for i := range n {
		d := drawing{i, maxParts}
		text, err := json.Marshal(d.of(s.root, 0))
		if err != nil || s.Check(text) != nil ||
			slices.ContainsFunc(drawn, func(t json.RawMessage) bool { return string(t) == string(text) }) {
			continue
		}
		drawn = append(drawn, text)
	}
	return drawn
}

// drawing draws one value from a schema. An equal number draws an equal value. The value may not match the
// schema, because drawing does not support all keywords.
type drawing struct{ number, left int }

func (d *drawing) of(s *jsonschema.Schema, depth int) any {
	d.left--
	switch {
	case s == nil || depth == maxDrawn || d.left < 0:
		return nil
	case s.Const != nil:
		return *s.Const
	case s.Enum != nil && len(s.Enum.Values) > 0:
		return pick(s.Enum.Values, d.number)
	case len(s.Examples) > 0:
		return pick(s.Examples, d.number)
	case s.Default != nil:
		return *s.Default
	}
	value := d.typed(s, depth)
	parts := slices.Concat([]*jsonschema.Schema{s.Ref}, s.AllOf)
	for _, forms := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(forms) > 0 {
			parts = append(parts, pick(forms, d.number))
		}
	}
	for _, part := range parts {
		value = merged(value, d.of(part, depth+1))
	}
	return value
}

func pick[T any](all []T, number int) T { return all[number%len(all)] }

// merged returns an object with the fields of a and b. If a or b is not an object, merged returns a, or b if
// a is nil. merged does not change a or b, because these values may belong to the schema.
func merged(a, b any) any {
	if a == nil {
		return b
	}
	one, isObject := a.(map[string]any)
	other, both := b.(map[string]any)
	if !isObject || !both {
		return a
	}
	fields := maps.Clone(one)
	maps.Copy(fields, other)
	return fields
}

// typed draws a value of a type that the schema allows. If the schema names no type, its keywords
// determine the type.
func (d *drawing) typed(s *jsonschema.Schema, depth int) any {
	var types []string
	if s.Types != nil {
		types = s.Types.ToStrings()
	}
	is := func(kind string, about bool) bool {
		return slices.Contains(types, kind) || len(types) == 0 && about
	}
	switch {
	case is("object", len(s.Properties)+len(s.Required) > 0):
		return d.object(s, depth)
	case is("array", s.Items2020 != nil || len(s.PrefixItems) > 0):
		return d.list(s, depth)
	case is("string", s.MinLength != nil):
		return "a" + strings.Repeat("b", min(maxText, max(0, orZero(s.MinLength)-1)))
	case is("integer", false), is("number", s.Minimum != nil || s.ExclusiveMinimum != nil):
		return number(s, d.number)
	case is("boolean", false):
		return d.number%2 == 0
	}
	return nil
}

func (d *drawing) object(s *jsonschema.Schema, depth int) map[string]any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) || depth < maxOptional {
			object[name] = d.of(s.Properties[name], depth+1)
		}
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			object[name] = name
		}
	}
	return object
}

func (d *drawing) list(s *jsonschema.Schema, depth int) []any {
	list := []any{}
	for k := 0; k < max(1, orZero(s.MinItems)) && d.left > 0; k++ {
		part := s.Items2020
		if k < len(s.PrefixItems) {
			part = s.PrefixItems[k]
		}
		if part != nil || k < orZero(s.MinItems) {
			list = append(list, d.of(part, depth+1))
		}
		d.left--
	}
	return list
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// number draws a multiple of multipleOf, or of 1 if the schema has no multipleOf. The argument i selects the
// multiple, counted from 0. The first multiple is near the minimum. If the schema has no minimum, the first
// multiple is 0, or is below a negative maximum.
func number(s *jsonschema.Schema, i int) json.Number {
	step := big.NewRat(1, 1)
	least := new(big.Rat)
	if s.MultipleOf != nil {
		step = s.MultipleOf
	}
	switch {
	case s.Minimum != nil:
		least = s.Minimum
	case s.ExclusiveMinimum != nil:
		least = new(big.Rat).Add(s.ExclusiveMinimum, step)
	case s.Maximum != nil && s.Maximum.Sign() < 0:
		least = new(big.Rat).Sub(s.Maximum, step)
	}
	steps := new(big.Rat).Quo(least, step)
	whole := new(big.Int).Div(steps.Num(), steps.Denom())
	if !steps.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	value := new(big.Rat).SetInt(whole.Add(whole, big.NewInt(int64(i))))
	value.Mul(value, step)
	if value.IsInt() {
		return json.Number(value.Num().String())
	}
	return json.Number(value.FloatString(6))
}
