package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// DecodeTask reads a stored document. Fields that it does not know are kept in Unknown and
// written again, so that old and new code can run side by side. ErrNewerTask: a newer major.
func DecodeTask(data []byte) (*Task, error) {
	t := &Task{}
	var room [8]lateTime // more than a task has, so that none is allocated
	d := decoder{task: t, times: room[:0]}
	err := d.document(data)
	if err == nil && t.Schema > TaskSchema {
		err = fmt.Errorf("schema %d: %w", t.Schema, ErrNewerTask)
	}
	if err == nil {
		err = d.finish()
	}
	switch {
	case !utf8.Valid(data) || err != nil && !validJSON(data):
		return nil, fmt.Errorf("decode task: the stored document (%d bytes) is not JSON in UTF-8; restore it from a backup", len(data))
	case err != nil:
		return nil, fmt.Errorf("decode task %q: %w", t.OrderID, err)
	}
	return t, nil
}

// decoder fills a task; times relative to Created, and those of the steps, wait until that is
// known, because the order of the members may be lost in a store.
type decoder struct {
	task    *Task
	times   []lateTime
	created bool
	later   []byte // the steps, where they came before Created
}

type lateTime struct {
	to    *Time
	after int64
}

// document reads all that does not have to wait.
func (d *decoder) document(data []byte) error {
	r := reader{b: data}
	err := r.open()
	for err == nil && r.next() {
		switch string(r.name) {
		case "Steps":
			if !d.created || d.task.Schema == 0 || d.task.Schema > TaskSchema {
				d.later = r.value()
				continue
			}
			d.later = nil
			if err := d.steps(&r); err != nil {
				return err
			}
		case "Created":
			d.created = true
			err = d.task.Created.UnmarshalJSON(r.value())
		default:
			err = d.header(r.name, r.value())
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", r.name, err)
		}
	}
	if r.space(); r.err == nil && r.i != len(data) {
		r.err = errNoJSON
	}
	return cmp.Or(err, r.err)
}

func (d *decoder) finish() error {
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
	if d.later == nil {
		return nil
	}
	return d.steps(&reader{b: d.later})
}

// place is where a step stands in the definition, and where in the document.
type place struct {
	n  int64
	at int
}

// steps reads the steps, and puts them into the order of the definition.
func (d *decoder) steps(r *reader) error {
	var room [8]Step // and as many places: as many as most workflows have
	var seats [len(room)]place
	steps, places, ordered := room[:0], seats[:0], true
	err := r.open()
	for err == nil && r.next() {
		name := string(r.name)
		if slices.ContainsFunc(steps, func(s Step) bool { return s.Name == name }) {
			return fmt.Errorf("%s: step %q stands there twice", name, name)
		}
		p := place{at: len(steps)}
		steps = append(steps, Step{Name: name})
		if p.n, err = d.step(&steps[p.at], r); err != nil {
			err = fmt.Errorf("%s: step %q: %w", name, name, err)
		}
		ordered = ordered && (p.at == 0 || places[p.at-1].n <= p.n)
		places = append(places, p)
	}
	if err = cmp.Or(err, r.err); err != nil {
		return err
	}
	if !ordered {
		slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.n, b.n) })
	}
	d.task.Steps = make([]Step, len(steps))
	for i, p := range places {
		d.task.Steps[i] = steps[p.at]
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
		return readPart(&t.Verdicts, v)
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
	case "closed":
		return readPart(&t.Closing, v)
	case "removed":
		return readPart(&t.Removed, v)
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
func (d *decoder) step(s *Step, r *reader) (n int64, err error) {
	var firstAt, stop, quiet, last given
	endCause := false
	err = r.open()
	for err == nil && r.next() {
		v := r.value()
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
		return readPart(&s.Error, v)
	case "resolved":
		return readPart(&s.Resolved, v)
	default:
		keep(&s.Unknown, key, v)
	}
	return nil
}

// readPart reads a rare part; the step itself does not leave the stack for it.
func readPart[T any](to *T, v []byte) error {
	var part T
	err := json.Unmarshal(v, &part)
	*to = part
	return err
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

// reader walks the members of objects. It refuses whatever is no JSON.
type reader struct {
	b     []byte
	i     int
	depth int
	first bool   // no member of the object was read
	name  []byte // of the member, without quotes and escapes
	err   error
}

var errNoJSON = errors.New("it is not JSON")

// at reports whether that byte stands here.
func (r *reader) at(c byte) bool { return r.i < len(r.b) && r.b[r.i] == c }

func (r *reader) space() { r.i = skipSpace(r.b, r.i) }

// open enters the object that stands here.
func (r *reader) open() error {
	if r.space(); !r.at('{') {
		return fmt.Errorf("%.40q is not an object", r.value())
	}
	r.i++
	r.depth++
	r.first = true
	return nil
}

// next reads the name of the next member and stands before its value, or leaves the object.
func (r *reader) next() bool {
	first := r.first
	r.first = false
	if r.space(); r.at('}') && r.err == nil {
		r.i++
		r.depth--
		return false
	}
	if !first {
		if !r.at(',') {
			return r.fail()
		}
		r.i++
		r.space()
	}
	start, end := r.i, -1
	if r.at('"') {
		end = skipText(r.b, start)
	}
	if end < 0 || r.err != nil {
		return r.fail()
	}
	if r.name = r.b[start+1 : end-1]; bytes.IndexByte(r.name, '\\') >= 0 {
		var name string
		if name, r.err = unquote(r.b[start:end]); r.err != nil {
			return false
		}
		r.name = []byte(name)
	}
	r.i = end
	if r.space(); !r.at(':') {
		return r.fail()
	}
	r.i++
	r.space()
	return true
}

func (r *reader) fail() bool {
	r.err = cmp.Or(r.err, errNoJSON)
	return false
}

// value skips one value and returns it; null where there is none.
func (r *reader) value() []byte {
	start, end := r.i, skipValue(r.b, r.i, r.depth)
	if end < 0 {
		r.fail()
		return []byte("null")
	}
	r.i = end
	return r.b[start:end]
}
