package rawjson

import (
	"bytes"
	std "encoding/json"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Writer writes values as Marshal does. But the parts of the type json.RawMessage must have passed Check or
// Shortest: the Writer copies them, and does not read them again.
type Writer struct {
	pool sync.Pool
}

// NewWriter returns a Writer that writes some types with the marshalers.
func NewWriter(marshalers ...*json.Marshalers) *Writer {
	w := &Writer{}
	w.pool.New = func() any {
		g := &gaps{}
		// The library caches by its options how it writes each type, so that they are made once.
		all := append(slices.Clip(marshalers), json.MarshalToFunc(number), json.MarshalToFunc(g.leave))
		g.options = json.JoinOptions(asTagged, json.WithMarshalers(json.JoinMarshalers(all...)))
		return g
	}
	return w
}

// maxKept is the largest buffer that a Writer keeps for later values, in bytes.
const maxKept = 64 << 10

// Marshal returns a value as JSON. The error is one of the library.
func (w *Writer) Marshal(value any) (b []byte, err error) {
	g := w.pool.Get().(*gaps)
	g.text.Reset()
	g.encoder.Reset(&g.text, g.options)
	err = json.MarshalEncode(&g.encoder, value, g.options)
	if err == nil {
		b = ForQueues(g.fill())
	}
	clear(g.parts)
	g.parts = g.parts[:0]
	if g.text.Cap() <= maxKept {
		w.pool.Put(g)
	}
	return b, err
}

// gaps is a text with null in the places of the parts.
type gaps struct {
	options json.Options
	encoder jsontext.Encoder
	text    bytes.Buffer
	parts   []part
}

type part struct {
	value []byte
	end   int // end of the null in its place
}

// leave writes null in the place of a part.
func (g *gaps) leave(e *jsontext.Encoder, value *std.RawMessage) error {
	err := e.WriteToken(jsontext.Null)
	if len(*value) > 0 {
		g.parts = append(g.parts, part{*value, int(e.OutputOffset())})
	}
	return err
}

// fill returns a copy of the text with the parts in their places.
func (g *gaps) fill() []byte {
	text := bytes.TrimSuffix(g.text.Bytes(), []byte("\n"))
	size := len(text)
	for _, p := range g.parts {
		size += len(p.value)
	}
	b := make([]byte, 0, size)
	from := 0
	for _, p := range g.parts {
		b = append(append(b, text[from:p.end-len("null")]...), p.value...)
		from = p.end
	}
	return append(b, text[from:]...)
}
