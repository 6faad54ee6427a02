package source

import (
	"encoding/json"
	"slices"
	"strings"
)

// position is a line and a column of the file, both counted from 1. The zero value means the whole file.
type position struct{ line, column int }

type shape int

const (
	isNull shape = iota
	isBool
	isNumber
	isText
	isList
	isMap
)

// value is a YAML value with its position in the file.
type value struct {
	at     position
	shape  shape
	text   string // text, or a number as JSON with all its digits
	truth  bool
	list   []*value
	fields []field // fields in the sequence of the file
}

type field struct {
	at    position
	key   string
	value *value
}

// holds reports whether part occurs in a text of the value.
func (v *value) holds(part string) bool {
	return strings.Contains(v.text, part) ||
		slices.ContainsFunc(v.list, func(e *value) bool { return e.holds(part) }) ||
		slices.ContainsFunc(v.fields, func(f field) bool { return f.value.holds(part) })
}

// get returns the value of a field, or nil if v is not a mapping or does not have the field.
func (v *value) get(key string) *value {
	if f := v.field(key); f != nil {
		return f.value
	}
	return nil
}

func (v *value) field(key string) *field {
	if v == nil {
		return nil
	}
	for i := range v.fields {
		if v.fields[i].key == key {
			return &v.fields[i]
		}
	}
	return nil
}

// with returns a copy of the mapping with another value of a field that it has.
func (v *value) with(key string, of *value) *value {
	changed := *v
	changed.fields = slices.Clone(v.fields)
	changed.field(key).value = of
	return &changed
}

// plain returns the value in the Go types that the JSON Schema library expects.
func (v *value) plain() any {
	switch v.shape {
	case isBool:
		return v.truth
	case isNumber:
		return json.Number(v.text)
	case isText:
		return v.text
	case isList:
		list := make([]any, len(v.list))
		for i := range v.list {
			list[i] = v.list[i].plain()
		}
		return list
	case isMap:
		object := make(map[string]any, len(v.fields))
		for _, f := range v.fields {
			object[f.key] = f.value.plain()
		}
		return object
	}
	return nil
}
