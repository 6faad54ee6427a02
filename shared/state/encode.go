package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// TaskSchema is the major version of the stored document that EncodeTask writes.
const TaskSchema = 2

// ErrNewerTask: the document is of a newer major schema; nothing may be decided on it here.
var ErrNewerTask = errors.New("stored task has a newer schema than this program knows; deploy the newer program, nothing was changed")

var errRange = errors.New("a time is outside of the years 1970 to 9999; check the clock, and the times of the order and its workflow")

// EncodeTask writes the stored document: JSON with the members of taskFields and stepFields, in the
// order of their names.
//
// It fails only for a time past the year 9999 or before 1970, or an output that is not JSON.
func EncodeTask(t *core.Task) ([]byte, error) {
	w := &writer{b: make([]byte, 0, 512+192*len(t.Steps)), created: t.Created}
	taskFields.write(w, t, t.Unknown)
	return w.b, w.err
}

// writer appends JSON members; it remembers the first error.
type writer struct {
	b       []byte
	created core.Time
	err     error
}

// name begins a member.
func (w *writer) name(name string) {
	if c := w.b[len(w.b)-1]; c != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(rawjson.AppendString(w.b, name), ':')
}

func (w *writer) text(name, v string) {
	w.name(name)
	w.b = rawjson.AppendString(w.b, v)
}

func (w *writer) null(name string) {
	w.name(name)
	w.b = append(w.b, "null"...)
}

func (w *writer) integer(name string, v int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, v, 10)
}

func (w *writer) bool(name string, v bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) moment(name string, t core.Time) {
	if !t.InRange() {
		w.fail(fmt.Errorf("encode task: %s: %w", name, errRange))
		return
	}
	w.name(name)
	w.b = append(w.b, '"')
	w.b, _ = t.AppendText(w.b)
	w.b = append(w.b, '"')
}

// after writes t as milliseconds after Created; null is "none" where a reader assumes another time.
func (w *writer) after(name string, t core.Time) {
	switch {
	case t == 0:
		w.null(name)
	case !t.InRange():
		w.fail(fmt.Errorf("encode task: %s: %w", name, errRange))
	default:
		w.integer(name, int64(t-w.created))
	}
}

func (w *writer) raw(name string, v json.RawMessage) {
	if !rawjson.Valid(v) {
		w.fail(fmt.Errorf("encode task: %s is not JSON; the agent must answer JSON", name))
		return
	}
	w.name(name)
	if utf8.Valid(v) {
		w.b = append(w.b, v...)
		return
	}
	w.b = append(w.b, bytes.ToValidUTF8(v, []byte("\ufffd"))...)
}

func (w *writer) part(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		w.fail(fmt.Errorf("encode task: %s: %w", name, err))
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

// stepsField are the steps, by their names.
func stepsField() field[core.Task] {
	return field[core.Task]{
		name: "Steps", says: "each step by its name, see below", waits: true,
		put: (*writer).steps, take: func(d *decoder, _ *core.Task) error { return d.steps() },
	}
}

func (w *writer) steps(name string, t *core.Task) {
	w.name(name)
	w.b = append(w.b, '{')
	order := make([]int, len(t.Steps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(t.Steps[a].Name, t.Steps[b].Name) })
	s := &step{task: t, schema: TaskSchema}
	for _, n := range order {
		s.Step, s.n = &t.Steps[n], n
		w.name(s.Name)
		stepFields.write(w, s, s.Unknown)
	}
	w.b = append(w.b, '}')
}
