package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// DecodeTask reads a stored document. Fields that it does not know are kept in Unknown and
// written again, so that old and new code can run side by side. ErrNewerTask: a newer major.
func DecodeTask(data []byte) (*Task, error) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, fmt.Errorf("decode task: the stored document (%d bytes) is not JSON in UTF-8; restore it from a backup", len(data))
	}
	t := &Task{}
	d := decoder{task: t}
	var steps []byte
	r := reader{b: data}
	err := r.object(func(name string, value []byte) error {
		switch name {
		case "Steps":
			steps = value
			return nil
		case "Created":
			return t.Created.UnmarshalJSON(value)
		}
		return d.header(name, value)
	})
	if err == nil && t.Schema > TaskSchema {
		return nil, fmt.Errorf("decode task %q: schema %d: %w", t.OrderID, t.Schema, ErrNewerTask)
	}
	if err == nil {
		err = d.finish(steps)
	}
	if err != nil {
		return nil, fmt.Errorf("decode task %q: %w", t.OrderID, err)
	}
	return t, nil
}

// decoder fills a task; times relative to Created wait until that is known, because the order
// of the members may be lost in a store.
type decoder struct {
	task  *Task
	times []lateTime
}

type lateTime struct {
	to    *Time
	after int64
}

func (d *decoder) finish(steps []byte) error {
	t := d.task
	if !inRange(t.Created) {
		return errRange
	}
	for i := range t.Verdicts {
		if !inRange(t.Verdicts[i].At) {
			return errRange
		}
	}
	for _, l := range d.times {
		v, err := d.absolute(l.after)
		if err != nil {
			return err
		}
		*l.to = v
	}
	if steps == nil {
		return nil
	}
	type placed struct {
		n    int64
		step Step
	}
	var all []placed
	r := reader{b: steps}
	err := r.object(func(name string, value []byte) error {
		n, s, err := d.step(name, value)
		if err != nil {
			return fmt.Errorf("step %q: %w", name, err)
		}
		for i := range all {
			if all[i].step.Name == name {
				return fmt.Errorf("step %q stands there twice", name)
			}
		}
		all = append(all, placed{n, s})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.n, b.n) })
	t.Steps = make([]Step, len(all))
	for i := range all {
		t.Steps[i] = all[i].step
	}
	return nil
}

func (d *decoder) absolute(after int64) (Time, error) {
	if after < -int64(maxTime) || after > int64(maxTime) {
		return 0, errRange
	}
	v := d.task.Created + Time(after)
	if !inRange(v) {
		return 0, errRange
	}
	return v, nil
}

func (d *decoder) header(name string, v []byte) error {
	t := d.task
	switch name {
	case "Schema":
		return readInt(&t.Schema, v)
	case "OrderID":
		return readText(&t.OrderID, v)
	case "ProcessState":
		return readText(&t.ProcessState, v)
	case "LockedBy", "CompleteBy", "FailureCount": // derived when written
		return nil
	case "Version":
		return readInt(&t.Version, v)
	case "Workflow":
		return readText(&t.Workflow, v)
	case "Definition":
		return readText(&t.Definition, v)
	case "content":
		return readText(&t.ContentHash, v)
	case "priority":
		return readText(&t.Priority, v)
	case "replyTo":
		return readText(&t.ReplyTo, v)
	case "phase":
		return readText(&t.Phase, v)
	case "why":
		return readText(&t.Why, v)
	case "run":
		return readInt(&t.Run, v)
	case "command":
		return readInt(&t.Command, v)
	case "verdicts":
		return json.Unmarshal(v, &t.Verdicts)
	case "cancelAsked":
		return readBool(&t.CancelAsked, v)
	case "hops":
		return readInt(&t.Hops, v)
	case "claims":
		return readInt(&t.Claims, v)
	}
	return d.end(name, v)
}

// end reads what a task says of its statuses, its end and its times.
func (d *decoder) end(name string, v []byte) error {
	t := d.task
	switch name {
	case "seq":
		return readInt(&t.StatusSeq, v)
	case "startSeq":
		return readInt(&t.StartSeq, v)
	case "startAt":
		return d.late(&t.StartAt, v)
	case "startCause":
		return readText(&t.StartCause, v)
	case "endSeq":
		return readInt(&t.EndSeq, v)
	case "endCause":
		return readText(&t.EndCause, v)
	case "endCode":
		return readText(&t.EndCode, v)
	case "endText":
		return readText(&t.EndText, v)
	case "endStep":
		return readText(&t.EndStep, v)
	case "endCommand":
		return readInt(&t.EndCommand, v)
	case "output":
		t.Output = clip(v)
	case "ended":
		return d.late(&t.Ended, v)
	case "deadline":
		return d.late(&t.Deadline, v)
	case "deadlineSeq":
		return readInt(&t.DeadlineSeq, v)
	case "tell":
		return d.late(&t.Tell, v)
	case "due":
		return d.late(&t.Due, v)
	case "attention":
		return readBool(&t.Attention, v)
	default:
		keep(&t.Unknown, name, v)
	}
	return nil
}

func (d *decoder) late(to *Time, v []byte) error {
	if string(v) == "null" {
		return nil
	}
	var after int64
	if err := readInt(&after, v); err != nil {
		return err
	}
	d.times = append(d.times, lateTime{to, after})
	return nil
}

// step reads one step; Created is known by now.
func (d *decoder) step(name string, data []byte) (n int64, s Step, err error) {
	s.Name = name
	var firstAt, stop, quiet, last given
	endCause := false
	r := reader{b: data}
	err = r.object(func(key string, v []byte) error {
		switch key {
		case "N":
			return readInt(&n, v)
		case "at":
			return d.now(&s.ClaimedAt, v)
		case "firstAt":
			return d.given(&firstAt, v)
		case "stop":
			return d.given(&stop, v)
		case "quiet":
			return d.given(&quiet, v)
		case "last":
			return d.given(&last, v)
		case "wake":
			return d.now(&s.WakeAt, v)
		case "end":
			return d.now(&s.FinishedAt, v)
		case "endCause":
			endCause = true
		}
		return readStep(&s, key, v)
	})
	if !inRange(s.CompleteBy) || s.Error != nil && !inRange(s.Error.At) {
		return n, s, errRange
	}
	s.FirstAt = firstAt.or(s.ClaimedAt)
	s.StopBy = stop.or(s.CompleteBy)
	s.QuietBy = quiet.or(s.StopBy)
	s.LastStopBy = last.or(s.QuietBy)
	if !endCause {
		s.FinishCause = finishCause(&s)
	}
	return n, s, err
}

// readStep reads the members that are no relative times.
func readStep(s *Step, key string, v []byte) error {
	switch key {
	case "ProcessState":
		return readText(&s.State, v)
	case "LockedBy":
		return readText(&s.LockedBy, v)
	case "CompleteBy":
		return s.CompleteBy.UnmarshalJSON(v)
	case "FailureCount":
		return readInt(&s.FailureCount, v)
	case "Attempt":
		return readInt(&s.Attempt, v)
	case "undo":
		return readBool(&s.Undo, v)
	case "first":
		return readInt(&s.First, v)
	case "cause":
		return readText(&s.Cause, v)
	case "allow":
		return readInt(&s.Allowance, v)
	case "queued":
		return readInt(&s.Queued, v)
	case "undoFailures":
		return readInt(&s.UndoFailures, v)
	case "endSeq":
		return readInt(&s.FinishSeq, v)
	case "endState":
		return readText(&s.EndState, v)
	case "endCause":
		return readText(&s.FinishCause, v)
	case "output":
		s.Output = clip(v)
	case "error":
		return json.Unmarshal(v, &s.Error)
	case "resolved":
		return json.Unmarshal(v, &s.Resolved)
	default:
		keep(&s.Unknown, key, v)
	}
	return nil
}

// given is a time that may be left out.
type given struct {
	set bool
	at  Time
}

func (g given) or(assumed Time) Time {
	if g.set {
		return g.at
	}
	return assumed
}

func (d *decoder) given(g *given, v []byte) error {
	g.set = true
	return d.now(&g.at, v)
}

func (d *decoder) now(to *Time, v []byte) error {
	*to = 0
	if string(v) == "null" {
		return nil
	}
	var after int64
	err := readInt(&after, v)
	if err == nil {
		*to, err = d.absolute(after)
	}
	return err
}

func keep(to *map[string]json.RawMessage, name string, v []byte) {
	if *to == nil {
		*to = map[string]json.RawMessage{}
	}
	(*to)[name] = clip(v)
}

// clip keeps an append by a reader of v from writing into its neighbours.
func clip(v []byte) json.RawMessage { return v[:len(v):len(v)] }

func readInt[T ~int | ~int64](to *T, v []byte) error {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q is not a whole number", v)
	}
	*to = T(n)
	return nil
}

func readBool(to *bool, v []byte) error {
	switch string(v) {
	case "true", "false":
		*to = v[0] == 't'
		return nil
	}
	return fmt.Errorf("%.40q is neither true nor false", v)
}

func readText[T ~string](to *T, v []byte) error {
	if string(v) == "null" {
		*to = ""
		return nil
	}
	s, err := unquote(v)
	*to = T(s)
	return err
}

// unquote reads a JSON string; only one with escapes needs the standard library.
func unquote(v []byte) (string, error) {
	if len(v) < 2 || v[0] != '"' {
		return "", fmt.Errorf("%.40q is not a string", v)
	}
	for _, c := range v[1 : len(v)-1] {
		if c == '\\' {
			var s string
			err := json.Unmarshal(v, &s)
			return s, err
		}
	}
	return string(v[1 : len(v)-1]), nil
}

// reader walks JSON that is known to be valid.
type reader struct {
	b []byte
	i int
}

// object calls f for each member of the object.
func (r *reader) object(f func(name string, value []byte) error) error {
	r.space()
	if r.b[r.i] != '{' {
		return fmt.Errorf("%.40q is not an object", r.b[r.i:])
	}
	r.i++
	for {
		r.space()
		switch r.b[r.i] {
		case '}':
			r.i++
			return nil
		case ',':
			r.i++
			continue
		}
		name, err := unquote(r.value())
		if err != nil {
			return err
		}
		r.space()
		r.i++ // the colon
		r.space()
		if err := f(name, r.value()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (r *reader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

// value skips one value and returns it.
func (r *reader) value() []byte {
	start, depth := r.i, 0
	for r.i < len(r.b) {
		switch c := r.b[r.i]; c {
		case '"':
			r.quoted()
		case '{', '[':
			depth++
			r.i++
		case '}', ']':
			if depth == 0 {
				return r.b[start:r.i]
			}
			depth--
			r.i++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return r.b[start:r.i]
			}
			r.i++
			continue
		default:
			r.i++
			continue
		}
		if depth == 0 {
			return r.b[start:r.i]
		}
	}
	return r.b[start:r.i]
}

func (r *reader) quoted() {
	for r.i++; r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			r.i++
		}
	}
	r.i++
}
