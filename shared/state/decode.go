package state

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// DecodeTask reads a stored document. It keeps unknown members of the task and its steps, and EncodeTask
// writes them again, so that old and new code can run together. It returns ErrNewerTask for a newer schema.
func DecodeTask(data []byte) (*protocol.Task, error) {
	if !valid(data) {
		return nil,
			fmt.Errorf(
				"decode task: the stored document (%d bytes) is not JSON in UTF-8; restore it from a backup",
				len(data))
	}
	t := &protocol.Task{}
	if err := taskFields.read(&decoder{t}, t, data, &t.Unknown); err != nil {
		return nil, fmt.Errorf("decode task %q: %w", t.OrderID, err)
	}
	return t, nil
}

type decoder struct{ task *protocol.Task }

func (d *decoder) steps(v []byte) error {
	members, err := rawjson.Members(v)
	if err != nil {
		return err
	}
	type place struct {
		n    int
		step protocol.Step
	}
	places := make([]place, 0, len(members))
	// The loop may go in any order, because the places are sorted below.
	for name, text := range members {
		p := place{step: protocol.Step{Name: name}}
		s := step{Step: &p.step}
		if err := stepFields.read(d, &s, text, &p.step.Unknown); err != nil {
			return fmt.Errorf("step %q: %w", name, err)
		}
		p.n = s.n
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.step.Name, b.step.Name))
	})
	d.task.Steps = make([]protocol.Step, len(places))
	for i := range places {
		d.task.Steps[i] = places[i].step
	}
	return nil
}

func (d *decoder) after(v []byte) (core.Time, error) { return d.since(d.task.Created, v) }

func (d *decoder) instant(v []byte) (core.Time, error) { return d.since(0, v) }

func (*decoder) since(begin core.Time, v []byte) (core.Time, error) {
	ms, err := readInt[core.Time](v)
	if err != nil {
		return 0, err
	}
	if t := begin + ms; t.InRange() {
		return t, nil
	}
	return 0, errRange
}

func readMoment(v []byte) (t core.Time, err error) {
	err = t.UnmarshalJSON(v)
	if err == nil && !t.InRange() {
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
	s, err := jsontext.AppendUnquote(nil, v)
	return T(s), err
}

// readState reads a state. It does not allocate memory for a known state.
func readState(v []byte) (core.State, error) {
	for _, s := range stateNames {
		if len(v) == len(s)+2 && string(v[1:len(v)-1]) == string(s) && v[0] == '"' {
			return s, nil
		}
	}
	return readText[core.State](v)
}

var stateNames = [...]core.State{
	core.Pending, core.Processed, core.Processing, core.Skipped, core.Failed,
	core.UndoWait,
	core.Compensating, core.Compensated, core.Cancelled, core.Closed, core.Error, core.Waiting,
}
