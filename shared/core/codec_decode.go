package core

import (
	"bytes"
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
	if !utf8.Valid(data) || !ValidJSON(data) {
		return nil, fmt.Errorf("decode task: the stored document (%d bytes) is not JSON in UTF-8; restore it from a backup", len(data))
	}
	t := &Task{}
	var room [8]lateTime // more than a task has, so that none is allocated
	d := decoder{task: t, times: room[:0]}
	steps, err := d.document(data)
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

// document reads all but the steps, which it answers as they stand.
func (d *decoder) document(data []byte) (steps []byte, err error) {
	r, err := open(data)
	for err == nil && r.next() {
		switch string(r.name) {
		case "Steps":
			steps = r.value
		case "Created":
			err = d.task.Created.UnmarshalJSON(r.value)
		default:
			err = d.header(r.name, r.value)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return steps, cmp.Or(err, r.err)
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
	return d.steps(steps)
}

// place is where a step stands in the definition, and where in the document.
type place struct {
	n  int64
	at int
}

// steps reads the steps, and puts them into the order of the definition.
func (d *decoder) steps(data []byte) error {
	t := d.task
	r, err := open(data)
	if err != nil {
		return err
	}
	const most = 64                                                         // an output may hold anything
	t.Steps = make([]Step, 0, min(most, bytes.Count(data, []byte(`"N":`)))) // a guess: each of them has one
	var room [16]place
	places, ordered := room[:0], true
	for r.next() {
		name := string(r.name)
		if t.index(name) >= 0 {
			return fmt.Errorf("%s: step %q stands there twice", name, name)
		}
		t.Steps = append(t.Steps, Step{Name: name})
		p := place{at: len(places)}
		if p.n, err = d.step(&t.Steps[p.at], r.value); err != nil {
			return fmt.Errorf("%s: step %q: %w", name, name, err)
		}
		ordered = ordered && (p.at == 0 || places[p.at-1].n <= p.n)
		places = append(places, p)
	}
	if r.err != nil || ordered {
		return r.err
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.n, b.n) })
	sorted := make([]Step, len(places))
	for i, p := range places {
		sorted[i] = t.Steps[p.at]
	}
	t.Steps = sorted
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

func (d *decoder) header(name, v []byte) error {
	t := d.task
	switch string(name) {
	case "Schema":
		return readInt(&t.Schema, v)
	case "OrderID":
		return readText(&t.OrderID, v)
	case "ProcessState":
		return readState(&t.ProcessState, v)
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
func (d *decoder) end(name, v []byte) error {
	t := d.task
	switch string(name) {
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

// step reads one step, and its place; Created is known by now.
func (d *decoder) step(s *Step, data []byte) (n int64, err error) {
	var firstAt, stop, quiet, last given
	endCause := false
	r, err := open(data)
	for err == nil && r.next() {
		v := r.value
		switch string(r.name) {
		case "N":
			err = readInt(&n, v)
		case "at":
			err = d.now(&s.ClaimedAt, v)
		case "firstAt":
			err = d.given(&firstAt, v)
		case "stop":
			err = d.given(&stop, v)
		case "quiet":
			err = d.given(&quiet, v)
		case "last":
			err = d.given(&last, v)
		case "wake":
			err = d.now(&s.WakeAt, v)
		case "end":
			err = d.now(&s.FinishedAt, v)
		case "endCause":
			endCause = true
			err = readText(&s.FinishCause, v)
		default:
			err = readStep(s, r.name, v)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", r.name, err)
		}
	}
	if !inRange(s.CompleteBy) || s.Error != nil && !inRange(s.Error.At) {
		return n, errRange
	}
	s.FirstAt = firstAt.or(s.ClaimedAt)
	s.StopBy = stop.or(s.CompleteBy)
	s.QuietBy = quiet.or(s.StopBy)
	s.LastStopBy = last.or(s.QuietBy)
	if !endCause {
		s.FinishCause = finishCause(s)
	}
	return n, cmp.Or(err, r.err)
}

// readStep reads the members that are no relative times.
func readStep(s *Step, key, v []byte) error {
	switch string(key) {
	case "ProcessState":
		return readState(&s.State, v)
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
		return readState(&s.EndState, v)
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

func keep(to *map[string]json.RawMessage, name, v []byte) {
	if *to == nil {
		*to = map[string]json.RawMessage{}
	}
	(*to)[string(name)] = clip(v)
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

// readState spares the states that are known their own copies.
func readState(to *State, v []byte) error {
	for _, s := range stateNames {
		if len(v) == len(s)+2 && string(v[1:len(v)-1]) == string(s) && v[0] == '"' {
			*to = s
			return nil
		}
	}
	return readText(to, v)
}

var stateNames = [...]State{Pending, Processed, Processing, Skipped, Failed, UndoWait, Compensating, Compensated, Cancelled, Error}

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

// reader walks the members of an object in JSON that is known to be valid.
type reader struct {
	b           []byte
	i           int
	name, value []byte // of the member: its name without quotes and escapes
	err         error  // of a name that cannot be read
}

// open stands before the first member of an object.
func open(b []byte) (reader, error) {
	r := reader{b: b}
	if r.space(); r.b[r.i] != '{' {
		return r, fmt.Errorf("%.40q is not an object", r.b[r.i:])
	}
	r.i++
	return r, nil
}

// next goes to the next member, if there is one.
func (r *reader) next() bool {
	if r.space(); r.b[r.i] == ',' {
		r.i++
		r.space()
	}
	if r.b[r.i] == '}' {
		return false
	}
	start := r.i
	escaped := r.quoted()
	if r.name = r.b[start+1 : r.i-1]; escaped {
		var name string
		if name, r.err = unquote(r.b[start:r.i]); r.err != nil {
			return false
		}
		r.name = []byte(name)
	}
	r.space()
	r.i++ // the colon
	r.space()
	r.value = r.one()
	return true
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

// one skips one value and returns it.
func (r *reader) one() []byte {
	start, depth := r.i, 0
	for r.i < len(r.b) {
		switch r.b[r.i] {
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

// quoted skips a string, and answers whether anything in it is escaped.
func (r *reader) quoted() (escaped bool) {
	for r.i++; r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			r.i++
			escaped = true
		}
	}
	r.i++
	return escaped
}
