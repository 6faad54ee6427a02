package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// DecodeTask reads a stored document. Members that it does not know are kept in Unknown and written again, so
// that old and new code can run side by side. ErrNewerTask: the document has a newer schema.
func DecodeTask(data []byte) (*core.Task, error) {
	t := &core.Task{}
	d := decoder{task: t}
	err := taskFields.read(&d, t, data, &t.Unknown)
	switch {
	case !utf8.Valid(data) || err != nil && !rawjson.Valid(data):
		return nil, fmt.Errorf("decode task: the stored document (%d bytes) is not JSON in UTF-8; restore it from a backup", len(data))
	case errors.Is(err, ErrNewerTask):
		return nil, fmt.Errorf("decode task: %w", err)
	case err != nil:
		return nil, fmt.Errorf("decode task %q: %w", t.OrderID, err)
	}
	return t, nil
}

// decoder fills a task.
type decoder struct{ task *core.Task }

// rooms are where steps are read to, until it is known how many there are.
var rooms = sync.Pool{New: func() any { return new([]place) }}

// place is a step and its place in the definition.
type place struct {
	n    int
	step core.Step
}

// steps reads the steps, and puts them into the order of the definition.
func (d *decoder) steps(v []byte) error {
	room, _ := rooms.Get().(*[]place)
	places := (*room)[:0]
	defer func() {
		clear(places)
		*room = places
		rooms.Put(room)
	}()
	r := rawjson.Read(v)
	err := r.Open()
	for err == nil && r.Next() {
		name := string(r.Name())
		if slices.ContainsFunc(places, func(p place) bool { return p.step.Name == name }) {
			return fmt.Errorf("step %q stands there twice", name)
		}
		places = append(places, place{step: core.Step{Name: name}})
		p := &places[len(places)-1]
		s := step{Step: &p.step}
		if err = stepFields.read(d, &s, r.Value(), &p.step.Unknown); err != nil {
			err = fmt.Errorf("step %q: %w", name, err)
		}
		p.n = s.n
	}
	if err = cmp.Or(err, r.Err); err != nil {
		return err
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.n, b.n) })
	d.task.Steps = make([]core.Step, len(places))
	for i := range places {
		d.task.Steps[i] = places[i].step
	}
	return nil
}

// after reads a time in milliseconds after Created.
func (d *decoder) after(v []byte) (core.Time, error) {
	ms, err := readInt[int64](v)
	if err != nil {
		return 0, err
	}
	const span = 253402300799999 // all that is in range
	if t := d.task.Created + core.Time(ms); ms >= -span && ms <= span && t.InRange() {
		return t, nil
	}
	return 0, errRange
}

func readInstant(v []byte) (core.Time, error) {
	t, err := readInt[core.Time](v)
	if err == nil && !t.InRange() {
		err = errRange
	}
	return t, err
}

func readMoment(v []byte) (t core.Time, err error) {
	if err = t.UnmarshalJSON(v); err == nil && !t.InRange() {
		err = errRange
	}
	return t, err
}

func readInt[T ~int | ~int64](v []byte) (T, error) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a whole number", v)
	}
	return T(n), nil
}

func readBool(v []byte) (bool, error) {
	switch string(v) {
	case "true", "false":
		return v[0] == 't', nil
	}
	return false, fmt.Errorf("%.40q is neither true nor false", v)
}

func readText[T ~string](v []byte) (T, error) {
	if string(v) == "null" {
		return "", nil
	}
	s, err := rawjson.Unquote(v)
	return T(s), err
}

// readState spares the states that are known their own copies.
func readState(v []byte) (core.State, error) {
	for _, s := range stateNames {
		if len(v) == len(s)+2 && string(v[1:len(v)-1]) == string(s) && v[0] == '"' {
			return s, nil
		}
	}
	return readText[core.State](v)
}

var stateNames = [...]core.State{core.Pending, core.Processed, core.Processing, core.Skipped, core.Failed, core.UndoWait,
	core.Compensating, core.Compensated, core.Cancelled, core.Closed, core.Error, core.Waiting}
