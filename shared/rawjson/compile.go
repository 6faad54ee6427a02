package rawjson

import (
	"cmp"
	"encoding"
	std "encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// write appends an addressable value of one type as JSON. After an error, the library writes the whole value.
type write func(b []byte, v reflect.Value) ([]byte, error)

// compiler makes the functions that write some types.
type compiler struct {
	writer *Writer
	made   map[reflect.Type]*write // also of types that are not complete yet, because a type can contain itself
}

func (c compiler) of(t reflect.Type) *write {
	if c.made[t] == nil {
		w := new(write)
		c.made[t] = w
		*w = c.make(t)
	}
	return c.made[t]
}

var (
	rawMessage = reflect.TypeFor[std.RawMessage]()
	ownForms   = []reflect.Type{
		reflect.TypeFor[std.Marshaler](), reflect.TypeFor[json.MarshalerTo](),
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextAppender](),
	}
	isZeroer = reflect.TypeFor[interface{ IsZero() bool }]()
)

// hasOwnForm reports whether the methods of a type, or the library, say how it is written.
func hasOwnForm(t reflect.Type) bool {
	for _, i := range ownForms {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return t == reflect.TypeFor[std.Number]()
}

func (c compiler) make(t reflect.Type) write {
	text, has := c.writer.texts[t]
	switch {
	case has:
		return text
	case t == rawMessage:
		return writeRaw
	case hasOwnForm(t):
		return c.byLibrary
	}
	switch t.Kind() {
	case reflect.String:
		return func(b []byte, v reflect.Value) ([]byte, error) { return jsontext.AppendQuote(b, v.String()) }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil }
	case reflect.Int, reflect.Int64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil }
	case reflect.Pointer:
		return c.pointer(t)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return c.list(t)
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return c.mapping(t)
		}
	case reflect.Struct:
		if fields, ok := c.fields(t); ok {
			return fields.object
		}
	}
	return c.byLibrary
}

// byLibrary writes a value whose type is seldom written.
func (c compiler) byLibrary(b []byte, v reflect.Value) ([]byte, error) {
	text, err := json.Marshal(v.Addr().Interface(), c.writer.options)
	return append(b, text...), err
}

func writeRaw(b []byte, v reflect.Value) ([]byte, error) {
	if v.Len() == 0 {
		return append(b, "null"...), nil
	}
	return append(b, v.Bytes()...), nil
}

func (c compiler) pointer(t reflect.Type) write {
	element := c.of(t.Elem())
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return (*element)(b, v.Elem())
	}
}

func (c compiler) list(t reflect.Type) write {
	element := c.of(t.Elem())
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b, err = (*element)(b, v.Index(i))
			if err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
}

// mapping makes the function that writes a map, sorted by its keys.
func (c compiler) mapping(t reflect.Type) write {
	members := c.entries(t)
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		b = append(b, '{')
		b, err := members(b, len(b), v)
		return append(b, '}'), err
	}
}

// entries makes the function that writes the members of a map.
func (c compiler) entries(t reflect.Type) members {
	element := c.of(t.Elem())
	return func(b []byte, first int, v reflect.Value) (_ []byte, err error) {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		for _, key := range keys {
			b, err = jsontext.AppendQuote(comma(b, first), key.String())
			if err == nil {
				b, err = (*element)(append(b, ':'), addressable(v.MapIndex(key)))
			}
			if err != nil {
				return nil, err
			}
		}
		return b, nil
	}
}

// members appends the members of an object, whose first member begins at the position first.
type members func(b []byte, first int, v reflect.Value) ([]byte, error)

func comma(b []byte, first int) []byte {
	if len(b) > first {
		b = append(b, ',')
	}
	return b
}

// fields are the fields of a struct, in the sequence of its declaration.
type fields []field

type field struct {
	index   int
	omit    func(reflect.Value) bool // reports whether the field is left out; nil means never
	name    []byte                   // quoted, with a colon
	write   *write
	members members // writes an embedded struct or map, which has no name; nil for every other field
}

func (all fields) object(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	b, err := all.members(b, len(b), v)
	return append(b, '}'), err
}

func (all fields) members(b []byte, first int, v reflect.Value) (_ []byte, err error) {
	for i := range all {
		f := &all[i]
		value := v.Field(f.index)
		switch {
		case f.omit != nil && f.omit(value):
			continue
		case f.members != nil:
			b, err = f.members(b, first, value)
		default:
			b, err = (*f.write)(append(comma(b, first), f.name...), value)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// optional reports whether the zero value of the struct has no members.
func (all fields) optional() bool {
	return !slices.ContainsFunc(all, func(f field) bool { return f.omit == nil })
}

// fields returns the fields of a struct. It returns false for a struct with a rare option.
func (c compiler) fields(t reflect.Type) (all fields, ok bool) {
	var last fields // the members of a map stand at the end
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		embedded := options == "embed" || f.Anonymous && name == ""
		if tag == "-" || !f.IsExported() && !embedded {
			continue
		}
		made := field{index: i}
		switch {
		case embedded && f.Type.Kind() == reflect.Map:
			made.omit = empty(f.Type)
			made.members = c.entries(f.Type)
			last = append(last, made)
			continue
		case embedded:
			ok = c.embed(&made, f.Type)
		default:
			made.name, _ = jsontext.AppendQuote(nil, cmp.Or(name, f.Name)) // a name of this program
			made.name = append(made.name, ':')
			made.write = c.of(f.Type)
			made.omit, ok = omission(f.Type, options)
		}
		if !ok {
			return nil, false
		}
		all = append(all, made)
	}
	return append(all, last...), true
}

// embed makes the field of an embedded struct, whose members stand among those of the outer struct.
func (c compiler) embed(f *field, t reflect.Type) (ok bool) {
	isPointer := t.Kind() == reflect.Pointer
	if isPointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	inner, ok := c.fields(t)
	f.members = inner.members
	switch {
	case isPointer:
		f.omit = reflect.Value.IsNil
		f.members = func(b []byte, first int, v reflect.Value) ([]byte, error) {
			return inner.members(b, first, v.Elem())
		}
	case inner.optional():
		f.omit = reflect.Value.IsZero
	}
	return ok
}

// omission returns the function that reports whether the options of a field leave a value out. It returns false for
// a rare option.
func omission(t reflect.Type, options string) (omit func(reflect.Value) bool, ok bool) {
	switch {
	case options == "":
		return nil, true
	case options == "omitempty":
		return empty(t), true
	case options != "omitzero" || reflect.PointerTo(t).Implements(isZeroer):
		return nil, false
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return reflect.Value.IsNil, true
	case t.Kind() == reflect.Struct:
		return reflect.Value.IsZero, true
	}
	return empty(t), true
}

// empty returns the function that reports whether omitempty leaves a value out.
func empty(t reflect.Type) func(reflect.Value) bool {
	switch t.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Bool:
		return func(v reflect.Value) bool { return !v.Bool() }
	case reflect.Int, reflect.Int64:
		return func(v reflect.Value) bool { return v.Int() == 0 }
	case reflect.Pointer, reflect.Interface:
		return reflect.Value.IsNil
	case reflect.Struct:
		return nil
	}
	return reflect.Value.IsZero
}
