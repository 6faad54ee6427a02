package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// usualTask is a finished order of four steps as it is stored most of the time.
func usualTask() *protocol.Task {
	t := &protocol.Task{
		OrderID: "order-000123", Version: 6, Workflow: "order",
		Definition:  "0123456789abcdef0123456789abcdef",
		ContentHash: "fedcba9876543210fedcba9876543210", ReplyTo: "shop", ProcessState: core.Processing,
		Hops:      4,
		StatusSeq: 1, Created: born, Due: born + 40_000,
	}
	for i, name := range []string{
		"reserve-inventory", "charge-payment", "book-shipment",
		"send-confirmation",
	} {
		at := born.Add(core.Duration(20 * i))
		s := protocol.Step{
			Name: name, State: core.Processed, Attempt: 1, First: protocol.First{Nth: i + 1, At: at},
			Claim: protocol.Claim{At: at, Allowance: 30_000},
			Stops: protocol.Stops{Do: at + 40_000, Undo: at + 41_000}, Finish: protocol.Finish{At: at + 15},
			Output: json.RawMessage(fmt.Sprintf(`{"id":"x-%d"}`, i)),
		}
		if i == 3 {
			s.Claim.Cause = "reply/book-shipment/1/done"
			s.State = core.Processing
			s.Claim.By = "scheduler-1"
			s.CompleteBy = at + 40_000
			s.Claim.StopBy = at + 40_000
			s.Finish.At = 0
			s.Output = nil
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

// fullTask has every field set, and no two times equal.
func fullTask(t testing.TB) *protocol.Task {
	task := &protocol.Task{}
	n := int64(born)
	fill(t, reflect.ValueOf(task).Elem(), &n)
	task.Damaged = "" // never stored
	return task
}

func fill(t testing.TB, v reflect.Value, n *int64) {
	*n += 7
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(fmt.Sprintf(`{"n":%d.50}`, *n)))
		return
	case map[string]int:
		v.Set(reflect.ValueOf(map[string]int{"gone": int(*n)}))
		return
	case map[string][]string:
		v.Set(reflect.ValueOf(map[string][]string{
			"cancel": {fmt.Sprintf("hash-%d", *n), "another"},
			"answer": {"third"},
		}))
		return
	case map[string]json.RawMessage:
		v.Set(reflect.ValueOf(map[string]json.RawMessage{
			fmt.Sprintf("new-%d", *n): json.RawMessage("[1]"),
			"also":                    json.RawMessage(`"x"`),
		}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("text \"%d\" <ü\n>", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(*n)
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("the codec test does not know %s", v.Type())
	}
}

func encode(t testing.TB, task *protocol.Task) []byte {
	t.Helper()
	b, err := state.EncodeTask(task)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) {
		t.Fatalf("not JSON: %s", b)
	}
	return b
}

// A field that is added to the task and not to the codec is found here.
func TestEveryFieldOfATaskIsStored(t *testing.T) {
	empty := &protocol.Task{Steps: []protocol.Step{}}
	for name, task := range map[string]*protocol.Task{"full": fullTask(t), "usual": usualTask(), "empty": empty} {
		got, err := state.DecodeTask(encode(t, task))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, task) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, task)
		}
	}
}

// A time that is Created itself is not one that is absent.
func TestTimesAtCreationAreStored(t *testing.T) {
	fields := []func(*protocol.Step) *core.Time{
		func(s *protocol.Step) *core.Time {
			return &s.Claim.At
		}, func(s *protocol.Step) *core.Time { return &s.First.At },
		func(s *protocol.Step) *core.Time {
			return &s.CompleteBy
		}, func(s *protocol.Step) *core.Time { return &s.Claim.StopBy },
		func(s *protocol.Step) *core.Time {
			return &s.Stops.Do
		}, func(s *protocol.Step) *core.Time { return &s.Stops.Undo },
		func(s *protocol.Step) *core.Time {
			return &s.Wait.At
		}, func(s *protocol.Step) *core.Time { return &s.Finish.At },
	}
	stride := 1
	if testing.Short() {
		stride = 17
	}
	for mask := 0; mask < 1<<(2*len(fields)); mask += stride { // each: zero, Created, later, earlier than Created
		task := &protocol.Task{OrderID: "x", Created: born, Steps: []protocol.Step{{Name: "a", State: core.Pending}}}
		for i, f := range fields {
			*f(&task.Steps[0]) = [...]core.Time{0, born, born + 5, born - 5}[mask>>(2*i)&3]
		}
		got, err := state.DecodeTask(encode(t, task))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, task) {
			t.Fatalf("got %+v, want %+v", got.Steps[0], task.Steps[0])
		}
	}
}

// Recorded documents of schema 1 are read by every later program. Each file holds one, and the task that it
// was read as; a field that is newer is not in it. No file is ever recorded again: what the format gets
// later is recorded in a file of its own.
func TestDocumentsOfSchema1AreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/schema1/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, task, _ := bytes.Cut(text, []byte("\n\n"))
		var want map[string]any
		if err := json.Unmarshal(task, &want); err != nil {
			t.Fatal(err)
		}
		underPresentNames(want, taskNames)
		for _, s := range want["Steps"].([]any) {
			underPresentNames(s.(map[string]any), stepNames)
		}
		for name, doc := range map[string][]byte{
			"as stored":                      doc,
			"sorted, as DynamoDB answers it": sortedJSON(t, doc),
		} {
			got, err := state.DecodeTask(doc)
			if err != nil {
				t.Errorf("%s, %s: %v", file, name, err)
				continue
			}
			if diff := lacks(reread(t, got), want, ""); diff != "" {
				t.Errorf("%s, %s: %s", file, name, diff)
			}
			again, err := state.DecodeTask(encode(t, got)) // and stored in the present form
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%s, %s: stored again it is\n%+v, was\n%+v (%v)", file, name, again, got, err)
			}
		}
	}
}

// taskNames and stepNames list the fields that had other names when the tasks were recorded.
const (
	taskNames = "StartSeq Start.Seq, StartCause Start.Cause, StartAt Start.At, EndStep Reason.Step, " +
		"EndCode Reason.Code, EndText Reason.Text, Why Undo.Why, CancelAsked Undo.CancelAsked, " +
		"UndoneFor Undo.Reason, Ended End.At, EndCause End.Cause, EndSeq End.Seq, EndCommand End.Command, " +
		"ResendAt End.ResendAt, Deadline Deadline.At, DeadlineSeq Deadline.Seq, Command Commands.Number, " +
		"Verdicts Commands.Verdicts, Refused Commands.Refused, Attempts Attempts.Last, " +
		"Earlier Attempts.Earlier, Removed Attempts.Removed"
	stepNames = "LockedBy Claim.By, Agent Claim.Agent, Undo Claim.Undo, Cause Claim.Cause, ClaimedAt Claim.At, " +
		"StopBy Claim.StopBy, Allowance Claim.Allowance, Progress Claim.Progress, WakeAt Wait.At, " +
		"Until Wait.Until, First First.Nth, FirstAt First.At, QuietBy Stops.Do, UndoStopBy Stops.Undo, " +
		"FailureCount Failures.Do, UndoFailures Failures.Undo, Queued Failures.Queued, FinishedAt Finish.At, " +
		"FinishSeq Finish.Seq, FinishCause Finish.Cause"
)

// underPresentNames moves the members of a recorded object to where the fields are now.
func underPresentNames(object map[string]any, names string) {
	values := map[string]any{}
	for pair := range strings.SplitSeq(names, ", ") {
		was, _, _ := strings.Cut(pair, " ")
		if value, recorded := object[was]; recorded {
			values[was] = value
			delete(object, was)
		}
	}
	for pair := range strings.SplitSeq(names, ", ") {
		was, is, _ := strings.Cut(pair, " ")
		group, name, _ := strings.Cut(is, ".")
		if _, recorded := values[was]; !recorded {
			continue
		}
		if object[group] == nil {
			object[group] = map[string]any{}
		}
		object[group].(map[string]any)[name] = values[was]
	}
}

func sortedJSON(t *testing.T, doc []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func reread(t *testing.T, v any) (got any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// lacks says where got has not what want has.
func lacks(got, want any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for name, w := range want {
			if diff := lacks(g[name], w, path+"."+name); diff != "" {
				return diff
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		for i, w := range want {
			if i >= len(g) {
				return path + " is too short"
			}
			if diff := lacks(g[i], w, path+"."+strconv.Itoa(i)); diff != "" {
				return diff
			}
		}
		return ""
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	return ""
}

func TestDocumentShowsWhatThePatternNames(t *testing.T) {
	doc := encode(t, usualTask())
	var d struct {
		OrderID, ProcessState, LockedBy string
		CompleteBy                      int64
		FailureCount                    int
		Steps                           map[string]struct {
			ProcessState string
			LockedBy     *string
			CompleteBy   *int64
			Try, N       int
		}
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	last := d.Steps["send-confirmation"]
	if d.LockedBy != "scheduler-1" || last.LockedBy == nil || d.CompleteBy != *last.CompleteBy ||
		last.Try != 1 || last.N != 3 {
		t.Errorf("the step in flight is not shown: %s", doc)
	}
	if first := d.Steps["reserve-inventory"]; first.LockedBy != nil || first.CompleteBy != nil {
		t.Errorf("a finished step is locked: %s", doc)
	}
}

func TestOrderOfMembersDoesNotMatter(t *testing.T) {
	want := usualTask()
	var d map[string]json.RawMessage
	if err := json.Unmarshal(encode(t, want), &d); err != nil {
		t.Fatal(err)
	}
	steps := map[string]json.RawMessage{}
	if err := json.Unmarshal(d["Steps"], &steps); err != nil {
		t.Fatal(err)
	}
	d["Steps"], _ = json.MarshalIndent(steps, " ", "\t")
	names := slices.Sorted(maps.Keys(d))
	for range 2 {
		var members []string
		for _, name := range names {
			members = append(members, fmt.Sprintf("%q : %s", name, d[name]))
		}
		got, err := state.DecodeTask([]byte("{ " + strings.Join(members, "\n,") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Steps { // white space inside of outputs is the store's own
			var b bytes.Buffer
			if got.Steps[i].Output != nil {
				_ = json.Compact(&b, got.Steps[i].Output)
				got.Steps[i].Output = b.Bytes()
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		slices.Reverse(names)
	}
}

// A part that is null is read as one that is absent: another program may have written it.
func TestNullPartsAreAbsent(t *testing.T) {
	want := usualTask()
	var d, steps map[string]json.RawMessage
	if err := json.Unmarshal(encode(t, want), &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d["Steps"], &steps); err != nil {
		t.Fatal(err)
	}
	for name, text := range steps {
		for _, part := range []string{"error", "corrected", "resolved", "progress", "answers"} {
			if !bytes.Contains(text, []byte(`"`+part+`":`)) {
				text = append([]byte(`{"`+part+`" : null , `), text[1:]...)
			}
		}
		steps[name] = text
	}
	d["Steps"], _ = json.Marshal(steps)
	doc, _ := json.Marshal(d)
	if got, err := state.DecodeTask(doc); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: got %+v\nwant %+v of\n%s", err, got, want, doc)
	}
}

func TestUnreadableDocuments(t *testing.T) {
	for doc, part := range map[string]string{
		``: "not JSON", `[]`: "not an object", `{"Schema":1,"Steps":{"a":{"N":"x"}}}`: `step "a"`,
		`{"Schema":1,"Steps":[]}`: "not an object", `{"Version":1.5}`: "whole number",
		"{\"OrderID\":\"\xff\"}":  "UTF-8",
		`{"Created":"yesterday"}`: "RFC 3339", `{"attention":1}`: "neither true",
		`{"Created":"2026-01-01T00:00:00Z","due":9999999999999999}`:                "years",
		`{"Created":"2026-01-01T00:00:00Z","due":1.5}`:                             "whole number",
		`{"Created":"2026-01-01T00:00:00Z","due":9223372036854775807}`:             "years",
		`{"Steps":{"a":{"CompleteBy":-1}}}`:                                        "years",
		`{"Steps":{"a":{"CompleteBy":"soon"}}}`:                                    "whole number",
		`{"verdicts":[{"at":"1969-01-01T00:00:00Z"}]}`:                             "years",
		`{"erased":{"at":"1969-01-01T00:00:00Z"}}`:                                 "years",
		`{"Steps":{"a":{"progress":{"at":"1969-01-01T00:00:00Z"}}}}`:               "years",
		`{"Steps":{"a":{"answers":{"remindedAt":"1969-01-01T00:00:00Z"}}}}`:        "years",
		`{"Steps":{"a":{"answers":{"votes":[{"at":"1969-01-01T00:00:00Z"}]}}}}`:    "years",
		`{"Steps":{"a":{"answers":{"verdicts":[{"at":"1969-01-01T00:00:00Z"}]}}}}`: "years",
	} {
		if _, err := state.DecodeTask([]byte(doc)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	_, err := state.DecodeTask([]byte(`{"Schema":2,"OrderID":"x","Steps":{"a":{"N":0}}}`))
	if !errors.Is(err, state.ErrNewerTask) {
		t.Errorf("a newer schema: %v", err)
	}
}

func TestUnwritableTasks(t *testing.T) {
	for name, spoil := range map[string]func(*protocol.Task){
		"time":   func(x *protocol.Task) { x.Due = 1 << 60 },
		"output": func(x *protocol.Task) { x.Steps[0].Output = json.RawMessage(`{"a":`) },
		// DecodeTask would refuse these, and the order could never be read again.
		"bytes":         func(x *protocol.Task) { x.Steps[0].Output = json.RawMessage("[\"a\xffb\"]") },
		"half a pair":   func(x *protocol.Task) { x.Steps[0].Output = json.RawMessage(`{"n":"\ud83d"}`) },
		"half in a key": func(x *protocol.Task) { x.Order = json.RawMessage(`{"\ud83d":1}`) },
		"key twice":     func(x *protocol.Task) { x.Steps[0].Output = json.RawMessage(`{"a":1,"a":2}`) },
		"part": func(x *protocol.Task) {
			x.Steps[0].Answers = &protocol.Answers{Votes: []protocol.Vote{{Value: json.RawMessage(`"\ud83d"`)}}}
		},
	} {
		task := usualTask()
		spoil(task)
		if _, err := state.EncodeTask(task); err == nil {
			t.Errorf("%s: stored", name)
		}
	}
}

func FuzzDecodeTask(f *testing.F) {
	f.Add(encode(f, usualTask()))
	f.Add(encode(f, fullTask(f)))
	f.Add([]byte(`{"Steps":{"a":{"at":0,"stop":null},"":{"N":-1}}, "x":[{"y":"}\""}] }`))
	f.Add([]byte(`{"Steps":{"a":{"answers":null,"N":0}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := state.DecodeTask(data)
		if err != nil {
			return
		}
		once, err := state.EncodeTask(task)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		again, err := state.DecodeTask(once)
		if err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		twice := encode(t, again)
		if !bytes.Equal(once, twice) {
			t.Fatalf("not stable:\n%s\n%s", once, twice)
		}
	})
}

// TestDamagedDocumentsAreRefused: what is read was JSON, whatever was cut out of it or put into it.
func TestDamagedDocumentsAreRefused(t *testing.T) {
	task := usualTask()
	if testing.Short() {
		task.Steps = task.Steps[2:] // one step that has ended and one that runs
	}
	doc := string(encode(t, task))
	for i := range doc {
		for _, put := range []string{
			"", "{", "}", "[", "]", ",", ":", `"`, `\`, "0", "n", "\x01", "\xff",
			" x",
		} {
			for _, cut := range []int{0, 1} {
				text := doc[:i] + put + doc[i+cut:]
				if _, err := state.DecodeTask([]byte(text)); err == nil && !json.Valid([]byte(text)) {
					t.Fatalf("read, and it is no JSON: %s", text)
				}
			}
		}
		for _, end := range []string{doc[:i], doc + doc[i:], doc + " " + doc[i:i+1]} {
			if _, err := state.DecodeTask([]byte(end)); err == nil {
				t.Fatalf("read, and it is cut off, or goes on: %s", end)
			}
		}
	}
}

// A time that no clock shows and a number that counts nothing are refused, in whichever part of a document
// they stand.
func TestImpossibleTimesAndCountsAreRefused(t *testing.T) {
	for _, never := range []core.Time{1 << 52, -1} {
		impossible(t, never)
	}
}

func impossible(t *testing.T, never core.Time) {
	t.Helper()
	answers := func(change func(a *protocol.Answers)) func(*protocol.Task) {
		return func(t *protocol.Task) { t.Steps[0].Answers = &protocol.Answers{Round: 1}; change(t.Steps[0].Answers) }
	}
	children := func(c protocol.Children) func(*protocol.Task) {
		return func(t *protocol.Task) { t.Steps[0].Children = &c }
	}
	for name, change := range map[string]func(*protocol.Task){
		"verdict": func(t *protocol.Task) {
			t.Commands.Verdicts = []protocol.Verdict{{
				ID: "v", Command: "undo",
				At: never,
			}}
		},
		"vote": answers(func(a *protocol.Answers) { a.Votes = []protocol.Vote{{At: never}} }),
		"verdict of answer": answers(
			func(a *protocol.Answers) { a.Verdicts = []protocol.Verdict{{ID: "v", At: never}} }),
		"progress": func(t *protocol.Task) {
			t.Steps[0].Claim.Progress = &protocol.StepProgress{
				Percent: 1,
				At:      never,
			}
		},
		"attempt": func(t *protocol.Task) {
			t.Attempts.Last = []protocol.Attempt{{Step: t.Steps[0].Name, Number: 1, Began: never}}
		},
		"end of an attempt": func(t *protocol.Task) {
			t.Attempts.Last = []protocol.Attempt{{Step: t.Steps[0].Name, Number: 1, Ended: never}}
		},
		"creation": func(t *protocol.Task) { t.Created = never },
		"count":    children(protocol.Children{Count: -1}), "next": children(protocol.Children{Next: -1}),
		"started": children(protocol.Children{Started: -1}),
		"cursor":  children(protocol.Children{Cursor: -1}), "failed": children(protocol.Children{Failed: -1}),
		"rounds":     children(protocol.Children{Rounds: -1}),
		"open child": children(protocol.Children{Count: 1, Open: []protocol.OpenChild{{Index: -1}}}),
		"result":     children(protocol.Children{Count: 1, Results: []protocol.Collected{{Index: -1}}}),
	} {
		task := usualTask()
		change(task)
		doc, err := state.EncodeTask(task)
		if err == nil {
			_, err = state.DecodeTask(doc)
		}
		if err == nil {
			t.Errorf("%s: stored and read: %s", name, doc)
		}
	}
}

// What people and the console read on top of a document: who claimed last, until when the first of
// those in flight may take, and all failures together.
func TestWhatIsShownOfStepsInFlight(t *testing.T) {
	at := core.Time(1_800_000_000_000)
	task := &protocol.Task{
		OrderID: "o", Version: 1, Workflow: "w", ProcessState: core.Processing, Created: at,
		Steps: []protocol.Step{
			{
				Name: "done", State: core.Processed, Attempt: 1, Claim: protocol.Claim{By: "z", At: at + 9000},
				CompleteBy: at + 1000, Failures: protocol.Failures{Do: 4},
			},
			{
				Name: "first", State: core.Processing, Attempt: 1, Claim: protocol.Claim{By: "a", At: at + 10},
				CompleteBy: at + 7000, Failures: protocol.Failures{Do: 1},
			},
			{
				Name: "last", State: core.Processing, Attempt: 1, Claim: protocol.Claim{By: "b", At: at + 30},
				CompleteBy: at + 9000,
			},
			{
				Name: "middle", State: core.Processing, Attempt: 1, Claim: protocol.Claim{By: "c", At: at + 20},
				CompleteBy: at + 5000, Failures: protocol.Failures{Do: 2},
			},
			{Name: "endless", State: core.Processing, Attempt: 1, Claim: protocol.Claim{By: "d", At: at + 10}},
		},
	}
	doc, err := state.EncodeTask(task)
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		LockedBy     string
		CompleteBy   int64
		FailureCount int
	}
	if err := json.Unmarshal(doc, &shown); err != nil || shown.LockedBy != "b" ||
		core.Time(shown.CompleteBy) != at+5000 || shown.FailureCount != 7 {
		t.Errorf("%+v, %v", shown, err)
	}
}
