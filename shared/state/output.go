package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// A workflow's output mostly repeats members of its steps' outputs. What stands there already is not
// stored again: outputOf names, for each member of the output, where it comes from.
//
//	3            the member of that name in the output of the step whose N is 3
//	"3.chargeId" the member chargeId there
//	[null]       the value itself

func outputField() field[core.Task] {
	f := raw("output", "the workflow's output", func(t *core.Task) *json.RawMessage { return &t.Output })
	put := f.put
	f.absent = "none, or see outputOf"
	f.put = func(w *writer, name *label, t *core.Task) {
		if derivedOutput(t) == nil {
			put(w, name, t)
		}
	}
	return f
}

func derivedOutputField() field[core.Task] {
	return field[core.Task]{
		name: "outputOf", says: "the workflow's output, where it repeats outputs of steps: for each member the N of the step that has it, " +
			"N and the member's name there, or its value in brackets",
		put: func(w *writer, name *label, t *core.Task) {
			if of := derivedOutput(t); of != nil {
				w.raw(name, of)
			}
		},
		take: func(d *decoder, _ *core.Task) error { d.outputOf = clip(d.r.Value()); return nil },
	}
}

// derivedOutput is the output in terms of the steps' outputs, nil where that does not save anything.
func derivedOutput(t *core.Task) []byte {
	if len(t.Output) == 0 || t.Output[0] != '{' {
		return nil
	}
	b := append(make([]byte, 0, len(t.Output)), '{')
	r := rawjson.Read(t.Output)
	err := r.Open()
	for err == nil && r.Next() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		name := string(r.Name())
		b = append(rawjson.AppendString(b, name), ':')
		b = appendSource(b, t, name, r.Value())
	}
	if b = append(b, '}'); err != nil || len(b) >= len(t.Output) {
		return nil
	}
	if back, err := outputFrom(t, b); err != nil || !bytes.Equal(back, t.Output) {
		return nil
	}
	return b
}

// appendSource names a step whose output has that value, or writes the value itself.
func appendSource(b []byte, t *core.Task, name string, value []byte) []byte {
	for i := range t.Steps {
		out := t.Steps[i].Output
		if len(out) == 0 || out[0] != '{' || !bytes.Contains(out, value) {
			continue
		}
		r := rawjson.Read(out)
		err := r.Open()
		for err == nil && r.Next() {
			from := string(r.Name())
			if !bytes.Equal(r.Value(), value) {
				continue
			}
			if from == name {
				return strconv.AppendInt(b, int64(i), 10)
			}
			if len(from)+6 < len(value) {
				return rawjson.AppendString(b, strconv.Itoa(i)+"."+from)
			}
		}
	}
	return append(append(append(b, '['), value...), ']')
}

// outputFrom is the output that outputOf stands for.
func outputFrom(t *core.Task, of []byte) (json.RawMessage, error) {
	b := []byte{'{'}
	r := rawjson.Read(of)
	err := r.Open()
	for err == nil && r.Next() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		name := string(r.Name())
		b = append(rawjson.AppendString(b, name), ':')
		source, from := r.Value(), name
		if source[0] == '[' {
			b = append(b, bytes.TrimSpace(source[1:len(source)-1])...)
			continue
		}
		number := string(source)
		if source[0] == '"' {
			if number, err = rawjson.Unquote(source); err != nil {
				return nil, err
			}
			number, from, _ = strings.Cut(number, ".")
		}
		value := memberOf(t, number, from)
		if value == nil {
			return nil, fmt.Errorf("outputOf: %s: no step's output has it; restore the document from a backup", name)
		}
		b = append(b, value...)
	}
	if err == nil {
		err = r.Err
	}
	return append(b, '}'), err
}

// memberOf is a member of the output of the step with that number, nil where there is none.
func memberOf(t *core.Task, number, name string) (value []byte) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(t.Steps) || len(t.Steps[n].Output) == 0 || t.Steps[n].Output[0] != '{' {
		return nil
	}
	r := rawjson.Read(t.Steps[n].Output)
	for err = r.Open(); err == nil && r.Next(); {
		if v := r.Value(); string(r.Name()) == name && value == nil {
			value = v
		}
	}
	return value
}
