package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// TaskSchema is the major version of the stored document.
const TaskSchema = 1

// ErrNewerTask: the document is of a newer major schema; nothing may be decided on it here.
var ErrNewerTask = errors.New("stored task has a newer schema than this program knows; deploy the newer program, nothing was changed")

// maxTime is the last millisecond of the year 9999, the end of RFC 3339.
const maxTime = Time(253402300799999)

var errRange = errors.New("a time is outside of the years 1970 to 9999; check the clock, and the times of the order and its workflow")

func inRange(t Time) bool { return t >= 0 && t <= maxTime }

// EncodeTask writes the stored document (JSON). On top, and for each step, it shows a person what
// the pattern names: ProcessState, LockedBy, CompleteBy, FailureCount. The rest has short names
// and is left out where it is zero or what a reader would guess:
//
//   - Times but Created and CompleteBy are milliseconds after Created.
//   - Of a step, `stop` is by default CompleteBy, `quiet` is `stop`, `last` is `quiet`, `firstAt`
//     is `at`, and the cause of a finish that was told is the step's own reply; null says "none".
//
// It fails only for a time past the year 9999 or before 1970, or an output that is not JSON.
func EncodeTask(t *Task) ([]byte, error) {
	w := writer{b: make([]byte, 0, 640+256*len(t.Steps)), created: t.Created}
	w.b = append(w.b, '{')
	w.integer("Schema", int64(max(t.Schema, TaskSchema)))
	w.text("OrderID", t.OrderID)
	w.text("ProcessState", string(t.ProcessState))
	w.derived(t)
	w.integer("Version", t.Version)
	w.text("Workflow", t.Workflow)
	w.text("Definition", t.Definition)
	w.moment("Created", t.Created)
	w.header(t)
	w.key("Steps")
	w.b = append(w.b, '{')
	for i := range t.Steps {
		w.step(i, &t.Steps[i])
	}
	w.b = append(w.b, '}')
	w.unknown(t.Unknown)
	w.b = append(w.b, '}')
	return w.b, w.err
}

// derived writes who holds the task, until when, and its failures: for people and the console.
func (w *writer) derived(t *Task) {
	var locked string
	var claimed, by Time
	failures := 0
	for i := range t.Steps {
		s := &t.Steps[i]
		failures += s.FailureCount
		if !s.InFlight() {
			continue
		}
		by = earliest(by, s.CompleteBy)
		if locked == "" || s.ClaimedAt >= claimed {
			locked, claimed = s.LockedBy, s.ClaimedAt
		}
	}
	w.textOrNull("LockedBy", locked)
	w.momentOrNull("CompleteBy", by)
	w.integer("FailureCount", int64(failures))
}

// header writes what the task itself holds beside the names of the pattern.
func (w *writer) header(t *Task) {
	w.optText("content", t.ContentHash)
	w.optText("priority", t.Priority)
	w.optText("replyTo", t.ReplyTo)
	w.optText("phase", string(t.Phase))
	w.optText("why", string(t.Why))
	w.optInt("run", int64(t.Run))
	w.optInt("command", int64(t.Command))
	w.optJSON("verdicts", t.Verdicts, len(t.Verdicts) > 0)
	w.optBool("cancelAsked", t.CancelAsked)
	w.optInt("hops", int64(t.Hops))
	w.optInt("claims", int64(t.Claims))
	w.optInt("seq", int64(t.StatusSeq))
	w.optInt("startSeq", int64(t.StartSeq))
	w.optText("startCause", t.StartCause)
	w.optTime("startAt", t.StartAt)
	w.optInt("endSeq", int64(t.EndSeq))
	w.optText("endCause", t.EndCause)
	w.optText("endCode", t.EndCode)
	w.optText("endText", t.EndText)
	w.optText("endStep", t.EndStep)
	w.optInt("endCommand", int64(t.EndCommand))
	w.optJSON("closed", t.Closing, t.Closing != nil)
	w.optJSON("removed", t.Removed, len(t.Removed) > 0)
	w.optRaw("output", t.Output)
	w.optTime("ended", t.Ended)
	w.optTime("deadline", t.Deadline)
	w.optInt("deadlineSeq", int64(t.DeadlineSeq))
	w.optTime("tell", t.Tell)
	w.optTime("due", t.Due)
	w.optBool("attention", t.Attention)
}

func (w *writer) step(n int, s *Step) {
	w.name(s.Name)
	w.b = append(w.b, '{')
	w.integer("N", int64(n))
	w.text("ProcessState", string(s.State))
	w.textOrNull("LockedBy", s.LockedBy)
	w.momentOrNull("CompleteBy", s.CompleteBy)
	w.integer("FailureCount", int64(s.FailureCount))
	w.integer("Attempt", int64(s.Attempt))
	w.optBool("undo", s.Undo)
	w.optInt("first", int64(s.First))
	w.optText("cause", s.Cause)
	w.optTime("at", s.ClaimedAt)
	w.timeUnless("firstAt", s.FirstAt, s.ClaimedAt)
	w.timeUnless("stop", s.StopBy, s.CompleteBy)
	w.timeUnless("quiet", s.QuietBy, s.StopBy)
	w.timeUnless("last", s.LastStopBy, s.QuietBy)
	w.optTime("wake", s.WakeAt)
	w.optInt("allow", int64(s.Allowance))
	w.optInt("queued", int64(s.Queued))
	w.optInt("undoFailures", int64(s.UndoFailures))
	w.optTime("end", s.FinishedAt)
	w.optInt("endSeq", int64(s.FinishSeq))
	if s.FinishCause != finishCause(s) {
		w.text("endCause", s.FinishCause)
	}
	w.optText("endState", string(s.EndState))
	w.optRaw("output", s.Output)
	w.optJSON("error", s.Error, s.Error != nil)
	w.optJSON("resolved", s.Resolved, s.Resolved != nil)
	w.unknown(s.Unknown)
	w.b = append(w.b, '}')
}

// finishCause is the cause that a finish which was told has unless it says another.
func finishCause(s *Step) string {
	if s.FinishSeq == 0 {
		return ""
	}
	return "reply/" + s.Name + "/" + strconv.Itoa(s.Attempt) + "/done"
}

// writer appends JSON members; it remembers the first error.
type writer struct {
	b       []byte
	created Time
	err     error
}

func (w *writer) key(name string) {
	if c := w.b[len(w.b)-1]; c != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

// name begins a member whose name is not one of the codec's own.
func (w *writer) name(name string) {
	if c := w.b[len(w.b)-1]; c != '{' {
		w.b = append(w.b, ',')
	}
	w.b = appendString(w.b, name)
	w.b = append(w.b, ':')
}

func (w *writer) text(name, v string) {
	w.key(name)
	w.b = appendString(w.b, v)
}

func (w *writer) optText(name, v string) {
	if v != "" {
		w.text(name, v)
	}
}

func (w *writer) textOrNull(name, v string) {
	if v == "" {
		w.null(name)
		return
	}
	w.text(name, v)
}

func (w *writer) null(name string) {
	w.key(name)
	w.b = append(w.b, "null"...)
}

func (w *writer) integer(name string, v int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, v, 10)
}

func (w *writer) optInt(name string, v int64) {
	if v != 0 {
		w.integer(name, v)
	}
}

func (w *writer) optBool(name string, v bool) {
	if v {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) moment(name string, t Time) {
	if !inRange(t) {
		w.fail(fmt.Errorf("encode task: %s: %w", name, errRange))
		return
	}
	w.key(name)
	w.b = append(w.b, '"')
	w.b, _ = t.AppendText(w.b)
	w.b = append(w.b, '"')
}

func (w *writer) momentOrNull(name string, t Time) {
	if t == 0 {
		w.null(name)
		return
	}
	w.moment(name, t)
}

func (w *writer) optTime(name string, t Time) {
	if t != 0 {
		w.timeUnless(name, t, 0)
	}
}

// timeUnless writes t as milliseconds after Created unless it is the one that a reader assumes.
func (w *writer) timeUnless(name string, t, assumed Time) {
	switch {
	case t == assumed:
	case t == 0:
		w.null(name)
	case !inRange(t):
		w.fail(fmt.Errorf("encode task: %s: %w", name, errRange))
	default:
		w.integer(name, int64(t-w.created))
	}
}

func (w *writer) optRaw(name string, v json.RawMessage) {
	if len(v) == 0 {
		return
	}
	if !validJSON(v) {
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

// optJSON writes a part below the steps, which is rare, as its JSON tags say.
func (w *writer) optJSON(name string, v any, present bool) {
	if !present {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		w.fail(fmt.Errorf("encode task: %s: %w", name, err))
		return
	}
	w.key(name)
	w.b = append(w.b, b...)
}

// unknown writes the fields of a newer minor version again, in a fixed order.
func (w *writer) unknown(fields map[string]json.RawMessage) {
	if len(fields) == 0 {
		return
	}
	names := make([]string, 0, len(fields))
	// in any order: they are sorted below
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w.optRaw(name, fields[name])
	}
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			b = append(append(b, s[start:i]...), "\ufffd"...)
		} else {
			b = append(append(b, s[start:i]...), '\\')
			if c == '"' || c == '\\' {
				b = append(b, c)
			} else {
				b = append(b, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
