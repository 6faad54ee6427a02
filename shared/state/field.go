package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// field describes a member of a stored object of type T: its name, its meaning, and the functions that write
// and read it. A member that is nil, 0, false or empty is not written.
type field[T any] struct {
	name  string
	says  string // meaning of the member, for the documentation
	label label  // name in its written form; set by tableOf
	put   func(w *writer, name *label, x *T)
	take  func(d *decoder, x *T, v []byte) error
}

// table lists the members of one kind of object, in the order in which they are written and read. The
// member Created comes before all times that are stored relative to Created.
type table[T any] struct{ fields []field[T] }

func tableOf[T any](fields ...field[T]) *table[T] {
	for i := range fields {
		fields[i].label = labelOf(fields[i].name)
	}
	return &table[T]{fields}
}

func (t *table[T]) write(w *writer, x *T, unknown map[string]json.RawMessage) {
	w.b = append(w.b, '{')
	for i := range t.fields {
		t.fields[i].put(w, &t.fields[i].label, x)
	}
	if len(unknown) > 0 {
		names := make([]string, 0, len(unknown))
		// The loop may go in any order, because the names are sorted below.
		for name := range unknown {
			names = append(names, name)
		}
		slices.SortFunc(names, strings.Compare)
		for _, name := range names {
			l := labelOf(name)
			w.raw(&l, unknown[name])
		}
	}
	w.b = append(w.b, '}')
}

// read reads the members of an object. It stores unknown members in unknown, unless unknown is nil.
func (t *table[T]) read(d *decoder, x *T, object []byte, unknown *map[string]json.RawMessage) error {
	members, err := rawjson.Members(object)
	if err != nil {
		return err
	}
	for i := range t.fields {
		f := &t.fields[i]
		v, found := members[f.name]
		if !found {
			continue
		}
		delete(members, f.name)
		if err := f.take(d, x, v); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if unknown != nil && len(members) > 0 {
		*unknown = members
	}
	return nil
}

func member[T any, V comparable](name, says string, at func(*T) *V,
	put func(w *writer, name *label, v V), take func(d *decoder, v []byte) (V, error),
) field[T] {
	return field[T]{
		name: name, says: says,
		put: func(w *writer, name *label, x *T) {
			var zero V
			if v := *at(x); v != zero {
				put(w, name, v)
			}
		},
		take: func(d *decoder, x *T, v []byte) (err error) {
			*at(x), err = take(d, v)
			return err
		},
	}
}

func text[T any, V ~string](name, says string, at func(*T) *V) field[T] {
	return member(name, says, at,
		func(w *writer, name *label, v V) { w.text(name, string(v)) },
		func(_ *decoder, v []byte) (V, error) { return readText[V](v) })
}

func state[T any](name, says string, at func(*T) *core.State) field[T] {
	return member(name, says, at,
		func(w *writer, name *label, v core.State) { w.text(name, string(v)) },
		func(_ *decoder, v []byte) (core.State, error) { return readState(v) })
}

func integer[T any, V ~int | ~int64](name, says string, at func(*T) *V) field[T] {
	return member(name, says, at,
		func(w *writer, name *label, v V) { w.integer(name, int64(v)) },
		func(_ *decoder, v []byte) (V, error) { return readInt[V](v) })
}

func boolean[T any](name, says string, at func(*T) *bool) field[T] {
	return member(name, says, at, (*writer).bool,
		func(_ *decoder, v []byte) (bool, error) { return readBool(v) })
}

// moment makes a field of a time in RFC 3339, which people can read.
func moment[T any](name, says string, at func(*T) *core.Time) field[T] {
	return member(name, says, at, (*writer).moment,
		func(_ *decoder, v []byte) (core.Time, error) { return readMoment(v) })
}

// instant makes a field of a time in milliseconds since 1970, which a DynamoDB expression can compare.
func instant[T any](name, says string, at func(*T) *core.Time) field[T] {
	return member(name, says, at, (*writer).instant, (*decoder).instant)
}

// after makes a field of a time in milliseconds after Created.
func after[T any](name, says string, at func(*T) *core.Time) field[T] {
	return member(name, says, at, (*writer).after, (*decoder).after)
}

// raw makes a field of JSON that is stored byte for byte.
func raw[T any](name, says string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{
		name: name, says: says,
		put: func(w *writer, name *label, x *T) {
			if v := *at(x); len(v) > 0 {
				w.raw(name, v)
			}
		},
		take: func(_ *decoder, x *T, v []byte) error { *at(x) = v; return nil },
	}
}

// pointer makes a field of an optional part. The part is nil if the member is absent. If check is nil, every
// value is accepted.
func pointer[T, V any](name, says string, at func(*T) **V, check func(*V) error) field[T] {
	return part(name, says, at, func(v *V) bool { return v == nil }, check)
}

// part makes a field of a value with struct tags. If check is nil, every value is accepted.
func part[T, V any](name, says string, at func(*T) *V, absent func(V) bool, check func(V) error) field[T] {
	return field[T]{
		name: name, says: says,
		put: func(w *writer, name *label, x *T) {
			if v := *at(x); !absent(v) {
				w.part(name, v)
			}
		},
		take: func(_ *decoder, x *T, text []byte) error {
			var v V
			err := json.Unmarshal(text, &v)
			if err == nil && check != nil && !absent(v) { // a null has nothing to check
				err = check(v)
			}
			*at(x) = v
			return err
		},
	}
}

func object[T, V any](name, says string, at func(*T) **V, of *table[V]) field[T] {
	return field[T]{
		name: name, says: says,
		put: func(w *writer, name *label, x *T) {
			if v := *at(x); v != nil {
				w.name(name)
				of.write(w, v, nil)
			}
		},
		take: func(d *decoder, x *T, v []byte) error {
			if string(v) == "null" {
				*at(x) = nil
				return nil
			}
			*at(x) = new(V)
			return of.read(d, *at(x), v, nil)
		},
	}
}

func list[T, V any](name, says string, at func(*T) *[]V, of *table[V]) field[T] {
	return field[T]{
		name: name, says: says,
		put: func(w *writer, name *label, x *T) {
			all := *at(x)
			if len(all) == 0 {
				return
			}
			w.name(name)
			w.b = append(w.b, '[')
			for i := range all {
				if i > 0 {
					w.b = append(w.b, ',')
				}
				of.write(w, &all[i], nil)
			}
			w.b = append(w.b, ']')
		},
		take: func(d *decoder, x *T, v []byte) error {
			var all []V
			for object, err := range rawjson.Elements(v) {
				if err != nil {
					return err
				}
				all = append(all, *new(V))
				if err := of.read(d, &all[len(all)-1], object, nil); err != nil {
					return fmt.Errorf("%d: %w", len(all)-1, err)
				}
			}
			*at(x) = all
			return nil
		},
	}
}

func schemaField() field[protocol.Task] {
	return field[protocol.Task]{
		name: "Schema",
		says: "major version of this form; a program that knows only older ones leaves the document alone",
		put:  func(w *writer, name *label, _ *protocol.Task) { w.integer(name, TaskSchema) },
		take: func(_ *decoder, _ *protocol.Task, v []byte) error {
			schema, err := readInt[int](v)
			if err == nil && schema > TaskSchema {
				err = fmt.Errorf("%d: %w", schema, ErrNewerTask)
			}
			return err
		},
	}
}

// derived makes a field that is written for people and the console. The decoder ignores it.
func derived(name, says string, put func(w *writer, name *label, t *protocol.Task)) field[protocol.Task] {
	return field[protocol.Task]{
		name: name, says: says, put: put,
		take: func(*decoder, *protocol.Task, []byte) error { return nil },
	}
}
