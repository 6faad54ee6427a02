package rawjson

import (
	"bytes"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Writer writes values as Marshal does. But the parts of the type json.RawMessage must have passed Check or
// Shortest: the Writer copies them, and does not read them again.
//
// A Writer looks at a type once, and keeps how it writes the type. It leaves rare values, and the wording of
// errors, to the library.
type Writer struct {
	options json.Options
	texts   map[reflect.Type]write
	writes  sync.Map // *write of each type that was written, by reflect.Type
	buffers sync.Pool
}

// Text says how a Writer writes the values of one type. Of makes it.
type Text struct {
	typ     reflect.Type
	write   write
	library *json.Marshalers
}

// Of returns a Text for the type T. The function appends a value as JSON.
func Of[T any](appendTo func(b []byte, value *T) ([]byte, error)) Text {
	return Text{
		typ:   reflect.TypeFor[T](),
		write: func(b []byte, v reflect.Value) ([]byte, error) { return appendTo(b, v.Addr().Interface().(*T)) },
		library: json.MarshalToFunc(func(e *jsontext.Encoder, value *T) error {
			b, err := appendTo(e.AvailableBuffer(), value)
			if err != nil {
				return err
			}
			return e.WriteValue(b)
		}),
	}
}

// NewWriter returns a Writer. It writes the types of the texts as they say.
func NewWriter(texts ...Text) *Writer {
	w := &Writer{texts: map[reflect.Type]write{}}
	var all []*json.Marshalers
	for _, t := range texts {
		w.texts[t.typ] = t.write
		all = append(all, t.library)
	}
	w.options = json.JoinOptions(asTagged, json.WithMarshalers(json.JoinMarshalers(append(all,
		json.MarshalToFunc(number))...)))
	w.buffers.New = func() any { return new([]byte) }
	return w
}

// maxKept is the largest buffer that a Writer keeps for later values, in bytes.
const maxKept = 64 << 10

// Marshal returns a value as JSON. The error is one of the library.
func (w *Writer) Marshal(value any) ([]byte, error) {
	v := reflect.ValueOf(value)
	switch {
	case !v.IsValid():
		return []byte("null"), nil
	case v.Kind() == reflect.Pointer && !v.IsNil():
		v = v.Elem()
	default:
		v = addressable(v)
	}
	buffer := w.buffers.Get().(*[]byte)
	b, err := (*w.of(v.Type()))((*buffer)[:0], v)
	if err != nil {
		return json.Marshal(value, w.options)
	}
	out := ForQueues(bytes.Clone(b))
	if cap(b) <= maxKept {
		*buffer = b
		w.buffers.Put(buffer)
	}
	return out, nil
}

func addressable(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type()).Elem()
	p.Set(v)
	return p
}

func (w *Writer) of(t reflect.Type) *write {
	if known, ok := w.writes.Load(t); ok {
		return known.(*write)
	}
	made := compiler{writer: w, made: map[reflect.Type]*write{}}.of(t)
	w.writes.Store(t, made)
	return made
}
