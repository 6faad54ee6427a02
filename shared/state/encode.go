package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// TaskSchema is the major version of the stored document that this program reads and writes.
const TaskSchema = 1

// ErrNewerTask means that the document has a newer major schema. This program must not change such a
// document.
var ErrNewerTask = errors.New(
	"stored task has a newer schema than this program knows; deploy the newer program, nothing was changed")

var errRange = errors.New(
	"a time is outside of the years 1970 to 9999; check the clock, and the times of the order and its " +
		"workflow")

var errNegative = errors.New("a number of children is negative")

// EncodeTask returns the stored document: JSON with the members of taskFields and stepFields.
//
// It returns an error for a time outside the years 1970 to 9999, and for an order, input or output that is
// not JSON.
func EncodeTask(t *protocol.Task) ([]byte, error) {
	w := newWriter()
	defer w.release()
	b, err := w.task(t)
	return slices.Clone(b), err
}

// task returns the document of a task. The document is a part of the writer's buffer, and is valid until
// release.
func (w *writer) task(t *protocol.Task) ([]byte, error) {
	start := len(w.b)
	w.created = t.Created
	w.err = nil
	taskFields.write(w, t, t.Unknown)
	return slices.Clip(w.b[start:]), w.err
}

// writer appends JSON members to a buffer. It keeps the first error.
type writer struct {
	b       []byte
	created core.Time
	err     error
}

// writers holds reusable writers. A writer whose buffer has more than maxKept bytes is not reused.
var writers = sync.Pool{New: func() any { return new(writer) }}

const maxKept = 64 << 10

func newWriter() *writer {
	w, _ := writers.Get().(*writer)
	w.b = w.b[:0]
	return w
}

func (w *writer) release() {
	if cap(w.b) <= maxKept {
		writers.Put(w)
	}
}

type label struct {
	text   string
	member string // name in JSON, with quotes and colon
}

func labelOf(name string) label {
	return label{name, string(appendText(nil, name)) + ":"}
}

func (w *writer) name(name *label) {
	w.next()
	w.b = append(w.b, name.member...)
}

func (w *writer) next() {
	if c := w.b[len(w.b)-1]; c != '{' {
		w.b = append(w.b, ',')
	}
}

// appendText writes a string. Invalid UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func (w *writer) text(name *label, v string) {
	w.name(name)
	w.b = appendText(w.b, v)
}

func (w *writer) integer(name *label, v int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, v, 10)
}

func (w *writer) bool(name *label, v bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) moment(name *label, t core.Time) {
	if !t.InRange() {
		w.fail(fmt.Errorf("encode task: %s: %w", name.text, errRange))
		return
	}
	w.name(name)
	w.b = append(w.b, '"')
	w.b, _ = t.AppendText(w.b)
	w.b = append(w.b, '"')
}

func (w *writer) instant(name *label, t core.Time) {
	if !t.InRange() {
		w.fail(fmt.Errorf("encode task: %s: %w", name.text, errRange))
		return
	}
	w.integer(name, int64(t))
}

func (w *writer) after(name *label, t core.Time) {
	if !t.InRange() {
		w.fail(fmt.Errorf("encode task: %s: %w", name.text, errRange))
		return
	}
	w.integer(name, int64(t-w.created))
}

func (w *writer) raw(name *label, v json.RawMessage) {
	if !valid(v) {
		w.fail(fmt.Errorf("encode task: %s is not JSON that a program can read; it must be refused where it "+
			"comes in", name.text))
		return
	}
	w.name(name)
	w.b = append(w.b, v...)
}

// valid reports whether a value or a document may be stored. The writer and the reader use this one check, so
// that every stored document can be read.
func valid(v []byte) bool { return jsontext.Value(v).IsValid() }

func (w *writer) part(name *label, v any) {
	b, err := rawjson.Marshal(v)
	if err != nil {
		w.fail(fmt.Errorf("encode task: %s: %w", name.text, err))
		return
	}
	w.name(name)
	w.b = append(w.b, b...)
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func stepsField() field[protocol.Task] {
	return field[protocol.Task]{
		name: "Steps", says: "each step by its name, see below",
		put: (*writer).steps, take: func(d *decoder, _ *protocol.Task, v []byte) error { return d.steps(v) },
	}
}

func (w *writer) steps(name *label, t *protocol.Task) {
	w.name(name)
	w.b = append(w.b, '{')
	var s step // one variable for all steps, because each variable costs an allocation
	for n := range t.Steps {
		s = step{&t.Steps[n], n}
		w.next()
		w.b = append(appendText(w.b, s.Name), ':')
		stepFields.write(w, &s, s.Unknown)
	}
	w.b = append(w.b, '}')
}
