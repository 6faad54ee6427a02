package state

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// DecodeTask reads a stored document, of this schema or an older one. Members that it does not know
// are kept in Unknown and written again, so that old and new code can run side by side. ErrNewerTask: a
// newer major.
func DecodeTask(data []byte) (*core.Task, error) {
	t := &core.Task{}
	d := decoder{task: t, r: rawjson.Read(data)}
	err := d.document()
	if d.schema > TaskSchema {
		err = fmt.Errorf("schema %d: %w", d.schema, ErrNewerTask)
	}
	switch {
	case !utf8.Valid(data) || err != nil && !rawjson.Valid(data):
		return nil, fmt.Errorf("decode task: the stored document (%d bytes) is not JSON in UTF-8; restore it from a backup", len(data))
	case err != nil:
		return nil, fmt.Errorf("decode task %q: %w", t.OrderID, err)
	}
	return t, nil
}

// decoder fills a task. Times relative to Created, and the steps, wait until that and the schema are
// known, because the order of the members may be lost in a store.
type decoder struct {
	task     *core.Task
	r        rawjson.Reader
	schema   int
	ready    bool // Created and the schema are known
	later    []waiting
	places   []place // of the steps
	outputOf []byte
	tried    string
}

// waiting is a member that was found too early.
type waiting struct {
	field int
	value []byte
}

func (d *decoder) document() error {
	t := d.task
	seen, err := taskFields.read(d, t, &t.Unknown)
	if err == nil && !d.r.End() {
		err = d.r.Err
	}
	if err != nil || d.schema > TaskSchema {
		return err
	}
	d.ready = true
	for _, l := range d.later {
		f := &taskFields.fields[l.field]
		d.r = rawjson.Read(l.value)
		if err := f.take(d, t); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	d.fillSteps()
	if d.outputOf != nil {
		if t.Output, err = outputFrom(t, d.outputOf); err != nil {
			return err
		}
	}
	if t.Attempts, err = triedFrom(t, d.tried); err != nil {
		return err
	}
	taskFields.fill(t, seen, d.schema)
	return nil
}

// place is where a step stands in the definition and in the document, and which members it had.
type place struct {
	n, at int
	seen  uint64
}

// rooms are where steps are read to, until it is known how many there are.
var rooms = sync.Pool{New: func() any { return new([]core.Step) }}

// steps reads the steps, and puts them into the order of the definition.
func (d *decoder) steps() error {
	room, _ := rooms.Get().(*[]core.Step)
	steps, places, ordered := (*room)[:0], make([]place, 0, max(4, cap(*room))), true
	defer func() {
		clear(steps)
		*room = steps
		rooms.Put(room)
	}()
	s := &step{task: d.task, schema: d.schema}
	err := d.r.Open()
	for err == nil && d.r.Next() {
		name := string(d.r.Name())
		if slices.ContainsFunc(steps, func(s core.Step) bool { return s.Name == name }) {
			return fmt.Errorf("step %q stands there twice", name)
		}
		p := place{at: len(steps)}
		steps = append(steps, core.Step{Name: name})
		s.Step, s.n = &steps[p.at], 0
		if p.seen, err = stepFields.read(d, s, &s.Unknown); err != nil {
			err = fmt.Errorf("step %q: %w", name, err)
		}
		p.n = s.n
		ordered = ordered && (p.at == 0 || places[p.at-1].n <= p.n)
		places = append(places, p)
	}
	if err = cmp.Or(err, d.r.Err); err != nil {
		return err
	}
	if !ordered {
		slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.n, b.n) })
	}
	d.task.Steps = make([]core.Step, len(steps))
	for i, p := range places {
		d.task.Steps[i] = steps[p.at]
	}
	d.places = places
	return nil
}

// fillSteps sets one member after the other in all steps, because what is assumed of a step may depend
// on what stands in another.
func (d *decoder) fillSteps() {
	s := &step{task: d.task, schema: d.schema}
	for i := range stepFields.fields {
		for at, p := range d.places {
			if stepFields.fills(i, p.seen, d.schema) {
				s.Step, s.n = &d.task.Steps[at], at
				stepFields.fields[i].fill(s)
			}
		}
	}
}

// after reads a time in milliseconds after Created, or one that says itself when it is.
func (d *decoder) after(v []byte) (core.Time, error) {
	if v[0] == '"' || string(v) == "null" {
		return readMoment(v)
	}
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
