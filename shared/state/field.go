package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// field is one member of a stored object: its name, what it says, and how it is written and read.
// It is absent where its value is what a reader assumes.
type field[T any] struct {
	name string
	says string
	// label is of the same name; tableOf sets it.
	label label
	// absent is what a reader assumes where the member is absent, for people; "" stands for none or zero.
	absent string
	put    func(w *writer, name *label, x *T)
	take   func(d *decoder, x *T) error // reads the value that d stands before
	fill   func(x *T)                   // sets what is assumed; nil: nothing, none or zero
	first  bool                         // fill holds for schema 1 too
	key    bool                         // Created and Schema, which must be known before others are read
	waits  bool                         // one of those others
}

// table are the members of one kind of object. fields stand in the order in which they are filled: what
// is assumed of one may depend on those before it. They are written in the order of their names, which
// is the one order that a store can keep without knowing them.
type table[T any] struct {
	fields []field[T]
	sorted []int  // places in fields, by name
	keys   uint64 // a bit for each key
}

func tableOf[T any](fields ...field[T]) *table[T] {
	t := &table[T]{fields: fields, sorted: make([]int, len(fields))}
	for i := range t.sorted {
		t.sorted[i], fields[i].label = i, labelOf(fields[i].name)
		if fields[i].key {
			t.keys |= 1 << i
		}
	}
	slices.SortFunc(t.sorted, func(a, b int) int { return strings.Compare(fields[a].name, fields[b].name) })
	return t
}

// write writes the members, and between them those of a newer version that are kept.
func (t *table[T]) write(w *writer, x *T, unknown map[string]json.RawMessage) {
	w.b = append(w.b, '{')
	var others []string
	if len(unknown) > 0 {
		others = make([]string, 0, len(unknown))
		// in any order: they are sorted below
		for name := range unknown {
			others = append(others, name)
		}
		slices.Sort(others)
	}
	for _, i := range t.sorted {
		f := &t.fields[i]
		for len(others) > 0 && others[0] < f.name {
			w.unknown(others[0], unknown)
			others = others[1:]
		}
		f.put(w, &f.label, x)
	}
	for _, name := range others {
		w.unknown(name, unknown)
	}
	w.b = append(w.b, '}')
}

// find answers the place of a member, -1 for an unknown one. next is the place in sorted where the search
// begins, and then the one after it: members mostly stand in their order.
func (t *table[T]) find(name []byte, next *int) int {
	at := *next
	for range t.sorted {
		if at == len(t.sorted) {
			at = 0
		}
		i := t.sorted[at]
		at++
		if string(name) == t.fields[i].name {
			*next = at
			return i
		}
	}
	return -1
}

// read reads the members of an object; unknown ones are kept where there is a place for them.
// Which ones were there stands in the bits of seen.
func (t *table[T]) read(d *decoder, x *T, unknown *map[string]json.RawMessage) (seen uint64, err error) {
	next := 0
	for err = d.r.Open(); err == nil && d.r.Next(); {
		i := t.find(d.r.Name(), &next)
		if i < 0 {
			if name := string(d.r.Name()); unknown != nil {
				keep(unknown, name, d.r.Value())
			} else {
				d.r.Value()
			}
			continue
		}
		seen |= 1 << i
		f := &t.fields[i]
		if f.waits && !d.ready {
			d.later = append(d.later, waiting{i, d.r.Value()})
			continue
		}
		if err = f.take(d, x); err != nil {
			err = fmt.Errorf("%s: %w", f.name, err)
		}
		if f.key {
			d.ready = seen&t.keys == t.keys && d.schema <= TaskSchema
		}
	}
	if err == nil {
		err = d.r.Err
	}
	return seen, err
}

// fill sets what is assumed of the members that were not there.
func (t *table[T]) fill(x *T, seen uint64, schema int) {
	for i := range t.fields {
		if t.fills(i, seen, schema) {
			t.fields[i].fill(x)
		}
	}
}

// fills reports whether the field's value has to be assumed.
func (t *table[T]) fills(i int, seen uint64, schema int) bool {
	f := &t.fields[i]
	return f.fill != nil && seen&(1<<i) == 0 && (schema > 1 || f.first)
}

func keep(to *map[string]json.RawMessage, name string, v []byte) {
	if *to == nil {
		*to = map[string]json.RawMessage{}
	}
	(*to)[name] = clip(v)
}

// clip keeps an append by a reader of v from writing into the bytes that follow it.
func clip(v []byte) json.RawMessage { return v[:len(v):len(v)] }

// assumed are the rules by which a member may be absent. The zero value: none or zero is.
type assumed[T, V any] struct {
	of    func(*T) V
	says  string
	first bool          // since schema 1
	shown func(*T) bool // it is written all the same, for people; nil: never
}

func (a assumed[T, V]) value(x *T) (v V) {
	if a.of != nil {
		v = a.of(x)
	}
	return v
}

// member makes a field of how its value is read and written.
func member[T any, V comparable](name, says string, at func(*T) *V, rules []assumed[T, V],
	put func(w *writer, name *label, v V), take func(d *decoder, v []byte) (V, error)) field[T] {
	var a assumed[T, V]
	if len(rules) > 0 {
		a = rules[0]
	}
	f := field[T]{
		name: name, says: says, absent: a.says, first: a.first,
		put: func(w *writer, name *label, x *T) {
			if v := *at(x); v != a.value(x) || a.shown != nil && a.shown(x) {
				put(w, name, v)
			}
		},
		take: func(d *decoder, x *T) (err error) {
			*at(x), err = take(d, d.r.Value())
			return err
		},
	}
	if a.of != nil {
		f.fill = func(x *T) { *at(x) = a.of(x) }
	}
	return f
}

func text[T any, V ~string](name, says string, at func(*T) *V, a ...assumed[T, V]) field[T] {
	return member(name, says, at, a,
		func(w *writer, name *label, v V) { w.text(name, string(v)) },
		func(_ *decoder, v []byte) (V, error) { return readText[V](v) })
}

func state[T any](name, says string, at func(*T) *core.State, a ...assumed[T, core.State]) field[T] {
	return member(name, says, at, a,
		func(w *writer, name *label, v core.State) { w.text(name, string(v)) },
		func(_ *decoder, v []byte) (core.State, error) { return readState(v) })
}

func integer[T any, V ~int | ~int64](name, says string, at func(*T) *V, a ...assumed[T, V]) field[T] {
	return member(name, says, at, a,
		func(w *writer, name *label, v V) { w.integer(name, int64(v)) },
		func(_ *decoder, v []byte) (V, error) { return readInt[V](v) })
}

func boolean[T any](name, says string, at func(*T) *bool, a ...assumed[T, bool]) field[T] {
	return member(name, says, at, a, (*writer).bool, func(_ *decoder, v []byte) (bool, error) { return readBool(v) })
}

// moment is a time that people read: RFC 3339.
func moment[T any](name, says string, at func(*T) *core.Time, a ...assumed[T, core.Time]) field[T] {
	return member(name, says, at, a, (*writer).moment, func(_ *decoder, v []byte) (core.Time, error) { return readMoment(v) })
}

// after is a time in milliseconds after Created.
func after[T any](name, says string, at func(*T) *core.Time, a ...assumed[T, core.Time]) field[T] {
	f := member(name, says, at, a, (*writer).after, (*decoder).after)
	f.waits = true
	return f
}

// raw is JSON that is kept byte for byte.
func raw[T any](name, says string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{
		name: name, says: says,
		put: func(w *writer, name *label, x *T) {
			if v := *at(x); len(v) > 0 {
				w.raw(name, v)
			}
		},
		take: func(d *decoder, x *T) error { *at(x) = clip(d.r.Value()); return nil },
	}
}

// part is a rare part, as its JSON tags say. absent reports that there is none.
func part[T, V any](name, says string, at func(*T) *V, absent func(V) bool, check func(V) error) field[T] {
	return field[T]{
		name: name, says: says,
		put: func(w *writer, name *label, x *T) {
			if v := *at(x); !absent(v) {
				w.part(name, v)
			}
		},
		take: func(d *decoder, x *T) error {
			var v V
			err := json.Unmarshal(d.r.Value(), &v)
			if err == nil && !absent(v) { // null is nothing to check
				err = check(v)
			}
			*at(x) = v
			return err
		},
	}
}

// object is a part with a table of its own.
func object[T, V any](name, says string, at func(*T) **V, of *table[V]) field[T] {
	return field[T]{
		name: name, says: says, waits: true,
		put: func(w *writer, name *label, x *T) {
			if v := *at(x); v != nil {
				w.name(name)
				of.write(w, v, nil)
			}
		},
		take: func(d *decoder, x *T) error {
			if d.r.Null() {
				*at(x) = nil
				return nil
			}
			v := new(V)
			seen, err := of.read(d, v, nil)
			of.fill(v, seen, d.schema)
			*at(x) = v
			return err
		},
	}
}

// key marks a member that must be known before others are read.
func key[T any](f field[T]) field[T] {
	f.key = true
	return f
}

// schemaField has programs that know only an older form leave the document alone.
func schemaField() field[core.Task] {
	return field[core.Task]{
		name: "Schema", says: "major version of this form; a program that knows only older ones leaves the document alone", key: true,
		put: func(w *writer, name *label, t *core.Task) { w.integer(name, int64(schemaOf(t))) },
		take: func(d *decoder, _ *core.Task) (err error) {
			d.schema, err = readInt[int](d.r.Value())
			return err
		},
	}
}

// derived is written for people and the console; a reader passes it over.
func derived(name, says, absent string, put func(w *writer, name *label, t *core.Task)) field[core.Task] {
	return field[core.Task]{
		name: name, says: says, absent: absent, put: put,
		take: func(d *decoder, _ *core.Task) error { d.r.Value(); return nil },
	}
}
