package schema

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Part contains the schemas that apply to one part of a value. The zero value allows every value.
type Part struct{ schemas []*jsonschema.Schema }

// Part returns the part for the whole value.
func (s *Schema) Part() Part { return Part{[]*jsonschema.Schema{s.root}} }

// all returns the schemas of the part. It includes every schema that one of them applies to the whole value,
// for example by $ref or allOf.
func (p Part) all() []*jsonschema.Schema {
	seen := map[*jsonschema.Schema]bool{nil: true}
	var found []*jsonschema.Schema
	for todo := slices.Clone(p.schemas); len(todo) > 0; {
		s := todo[0]
		todo = todo[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		found = append(found, s)
		todo = append(todo, applied(s)...)
	}
	return found
}

// applied returns the schemas that s applies to the whole value, instead of a field or an element. Some of
// the results may be nil.
func applied(s *jsonschema.Schema) []*jsonschema.Schema {
	return slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf,
		slices.Collect(maps.Values(s.DependentSchemas)))
}

// circular reports whether a schema leads back to itself without going into a field or an element. A
// validation by such a schema would not end. The map done has false for a schema that is being visited, and
// true for a schema that was visited.
func circular(s *jsonschema.Schema, done map[*jsonschema.Schema]bool) bool {
	if s == nil {
		return false
	}
	if after, seen := done[s]; seen {
		return !after
	}
	done[s] = false
	found := slices.ContainsFunc(applied(s), func(of *jsonschema.Schema) bool { return circular(of, done) })
	done[s] = true
	return found
}

// Member returns the part for a field of an object. known is true if one of these conditions holds:
//   - the schema declares the field
//   - the schema explicitly allows additional fields
//   - the schema neither declares nor forbids fields
func (p Part) Member(name string) (member Part, known bool) {
	closed := false
	for _, s := range p.all() {
		closed = closed || len(s.Properties)+len(s.PatternProperties) > 0 || s.AdditionalProperties == false
		if of := s.Properties[name]; of != nil {
			member.schemas = append(member.schemas, of)
			known = true
		}
		for pattern, of := range s.PatternProperties { // the order of the parts does not matter
			if pattern.MatchString(name) {
				member.schemas = append(member.schemas, of)
				known = true
			}
		}
		others, some := s.AdditionalProperties.(*jsonschema.Schema)
		if some && s.Properties[name] == nil {
			member.schemas = append(member.schemas, others)
			known = true
		}
		if u := s.UnevaluatedProperties; u != nil && (u.Bool == nil || *u.Bool) {
			known = true
		}
		known = known || s.AdditionalProperties == true
	}
	return member, known || !closed
}

// Names returns the sorted names of the fields that the schema declares.
func (p Part) Names() []string {
	declared := map[string]bool{}
	for _, s := range p.all() {
		for name := range s.Properties {
			declared[name] = true
		}
	}
	return slices.Sorted(maps.Keys(declared))
}

// Element returns the part for the elements of a list.
func (p Part) Element() (element Part) {
	for _, s := range p.all() {
		element.schemas = append(element.schemas, s.PrefixItems...)
		if s.Items2020 != nil {
			element.schemas = append(element.schemas, s.Items2020)
		}
	}
	return element
}
