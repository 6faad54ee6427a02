package dynamo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// back writes an item's members again.
func back(t testing.TB, a attrs) string {
	b, err := appendObject(nil, a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What stands in an item for a JSON value, and that it comes back.
func TestValues(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{`null`, `NULL`},
		{`true`, `true`},
		{`false`, `false`},
		{`""`, `S()`},
		{`"ä☃😀"`, `S(ä☃😀)`},
		{`"a\"b\\c\u0007"`, "S(a\"b\\c\a)"},
		{`0`, `N(0)`},
		{`-7`, `N(-7)`},
		{`12345678901234567`, `N(12345678901234567)`},
		{`[]`, `[]`},
		{`{}`, `{}`},
		{`[1,[null,{"a":1}]]`, `[N(1) [NULL {a:N(1)}]]`},
		// What people and services have sent stands there as its text.
		{`{"output":{"price": 1.50}}`, `{output:S({"price": 1.50})}`},
		{`{"input":"x"}`, `{input:S("x")}`},
		{`{"value":null}`, `{value:S(null)}`},
	} {
		document := `{"v":` + tt.value + `}`
		a, err := attributesOf([]byte(document))
		if err != nil {
			t.Errorf("%s: %v", tt.value, err)
			continue
		}
		if got := sketch(a["v"]); got != tt.want {
			t.Errorf("%s is kept as %s, want %s", tt.value, got, tt.want)
		}
		if got := back(t, a); got != document {
			t.Errorf("%s comes back as %s", document, got)
		}
	}
}

// A step may have the name of a member that holds JSON text. Its state is shown as that of any other step.
func TestStepsWithNamesOfMembers(t *testing.T) {
	const document = `{"Steps":{"input":{"N":1,"output":{"a":1}},"output":{"N":0}},"output":[1],"removed":{"value":2}}`
	a, err := attributesOf([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{Steps:{input:{N:N(1) output:S({"a":1})} output:{N:N(0)}} output:S([1]) removed:{value:N(2)}}`
	if got := sketch(&types.AttributeValueMemberM{Value: a}); got != want {
		t.Errorf("kept as %s, want %s", got, want)
	}
	if got := back(t, a); got != document {
		t.Errorf("comes back as %s", got)
	}
}

// sketch writes an attribute shortly.
func sketch(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberS:
		return "S(" + v.Value + ")"
	case *types.AttributeValueMemberN:
		return "N(" + v.Value + ")"
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, sketch(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+":"+sketch(v.Value[name]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprintf("%T", v)
}

// What is no JSON object, or what DynamoDB would return as something else, cannot be shown.
func TestNotShown(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)
	for _, document := range []string{
		``, `1`, `[]`, `{`, "{\"a\":\"\x00\"}", "{\"a\":\"\xff\"}", `{"":1}`,
		`{"` + strings.Repeat("a", 256) + `":1}`, deep,
		`{"a":1.0}`, `{"a":1e3}`, `{"a":-0}`, `{"a":[` + strings.Repeat("1", 39) + `]}`, `{"a":{"b":0.5}}`,
	} {
		if a, err := attributesOf([]byte(document)); err == nil {
			t.Errorf("%q is shown as %v", document, a)
		}
	}
}

// An item that holds what no document is stored as is not read, wherever it stands.
func TestNoDocument(t *testing.T) {
	set := &types.AttributeValueMemberSS{Value: []string{"a"}}
	for name, a := range map[string]attrs{
		"a set":              {"steps": set},
		"a set in an object": {"steps": &types.AttributeValueMemberM{Value: attrs{"charge": set}}},
		"a set in a list":    {"steps": &types.AttributeValueMemberL{Value: []types.AttributeValue{set}}},
	} {
		if got, err := appendObject(nil, a); err == nil || !strings.Contains(err.Error(), "steps: ") ||
			!strings.Contains(err.Error(), "AttributeValueMemberSS") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got, err := appendObject(nil, attrs{"output": str(`{"a":1`)}); err == nil ||
		!strings.Contains(err.Error(), "output: text that is no JSON") {
		t.Errorf("half an output: %s, %v", got, err)
	}
}

func anyJSON(depth int) *rapid.Generator[string] {
	leaf := rapid.OneOf(
		rapid.SampledFrom([]string{
			"null", "true", "0", "-1", "1.50", "1e400", `"x"`, `"\u0041"`, `" "`,
			"12345678901234567890",
		}),
		rapid.Map(rapid.String(), func(s string) string { b, _ := json.Marshal(s); return string(b) }),
		rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprint(n) }),
	)
	if depth == 0 {
		return leaf
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 4),
			func(v []string) string { return "[" + strings.Join(v, ",") + "]" }),
		rapid.Custom(func(t *rapid.T) string { return anyObject(t, inner) }))
}

func anyObject(t *rapid.T, inner *rapid.Generator[string]) string {
	var members []string
	for i := range rapid.IntRange(0, 5).Draw(t, "members") {
		known := rapid.SampledFrom([]string{"a", "b", "N", "Steps", "ProcessState", "removed", "output", "value", ""})
		name, _ := json.Marshal(rapid.OneOf(known, rapid.String()).Draw(t, "name"))
		colon := rapid.SampledFrom([]string{":", ":", ":", " : "}).Draw(t, "colon")
		members = append(members, string(name)+colon+inner.Draw(t, fmt.Sprint("value ", i)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// Whatever is shown comes back with the same meaning, and what people and services have sent byte for byte.
func TestEveryDocumentComesBack(t *testing.T) {
	shown := 0
	rapid.Check(t, func(t *rapid.T) {
		document := anyObject(t, anyJSON(4))
		a, err := attributesOf([]byte(document))
		if err != nil {
			return
		}
		shown++
		b, err := appendObject(nil, a)
		if err != nil || !reflect.DeepEqual(decoded(t, b), decoded(t, []byte(document))) {
			t.Fatalf("%s comes back as %s (%v)", document, b, err)
		}
	})
	if shown == 0 {
		t.Errorf("no document was shown")
	}
}

// decoded is a document without what may differ: white space, escapes, and the order of members. Numbers keep
// their digits.
func decoded(t *rapid.T, document []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// fill sets every field that it can reach to something.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(1_795_000_000_000 + int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"id": "\u0078","n":1.50}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		switch v.Interface().(type) {
		case map[string]int:
			v.Set(reflect.ValueOf(map[string]int{"z": *n, "a": 2}))
			return
		case map[string][]string:
			v.Set(reflect.ValueOf(map[string][]string{"z": {"one", "two"}, "a": {"three"}}))
			return
		}
		v.Set(reflect.ValueOf(map[string]json.RawMessage{
			"zNew": json.RawMessage(`1`),
			"aNew": json.RawMessage(`[2]`),
		}))
	}
}

// fullTask has every field set.
func fullTask() *protocol.Task {
	t := &protocol.Task{}
	n := 0
	fill(reflect.ValueOf(t).Elem(), &n)
	t.Steps[0].Name = "second-by-name"
	t.Steps[1].Name = "first-by-name"
	t.Steps[0].Error.Message = "no money left"
	return t
}

// A task comes back from its item as it was, whatever it holds.
func TestTasksComeBack(t *testing.T) {
	for name, task := range map[string]*protocol.Task{
		"full":  fullTask(),
		"empty": {OrderID: "a", Created: core.TimeOf(time.Now()), Steps: []protocol.Step{}},
	} {
		document, err := state.EncodeTask(task)
		if err != nil {
			t.Fatal(err)
		}
		a, err := attributesOf(document)
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, document)
		}
		want, err := state.DecodeTask(document)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := state.DecodeTask([]byte(back(t, a))); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s (%v):\n%s\ncomes back as\n%s", name, err, document, back(t, a))
		}
	}
}

// recordOf is the record that package state makes of a task.
func recordOf(t *testing.T, task *protocol.Task) *port.Record {
	t.Helper()
	document, err := state.EncodeTask(task)
	if err != nil {
		t.Fatal(err)
	}
	return &port.Record{
		ID: task.OrderID, Version: task.Version, State: string(task.ProcessState),
		Workflow: task.Workflow,
		Created:  task.Created.Std(), Bucket: port.DueBucket,
		IndexAt: time.Date(2026, 11, 21, 10, 0, 40, 123e6, time.UTC), Document: document,
	}
}

// An item of a task shows what the pattern names, at the top and in each step.
func TestItemShowsThePattern(t *testing.T) {
	created := core.TimeOf(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	task := &protocol.Task{
		OrderID: "order-1", Version: 3, Workflow: "order", ProcessState: core.Processing,
		Created: created, Steps: []protocol.Step{
			{
				Name: "reserve", State: core.Processing, Claim: protocol.Claim{By: "scheduler-7"},
				CompleteBy: created + 40_000,
				Attempt:    2, Failures: protocol.Failures{Do: 1},
			},
			{Name: "charge", State: core.Pending},
		},
	}
	s := New(nil, Tables{}, Options{})
	a, err := s.item(recordOf(t, task), []byte("12345678"))
	if err != nil {
		t.Fatal(err)
	}
	steps := a["Steps"].(*types.AttributeValueMemberM).Value
	for where, tt := range map[string]struct {
		members attrs
		want    map[string]string
	}{
		"order": {a, map[string]string{
			"OrderID": "S(order-1)", "ProcessState": "S(Processing)",
			"LockedBy":   "S(scheduler-7)",
			"CompleteBy": "N(1795255240000)", "FailureCount": "N(1)", "Version": "N(3)",
			"bucket": fmt.Sprintf("S(due#%d)", port.ShardOf("order-1", DefaultShards)),
			"dueAt":  "N(1795255240123)",
		}},
		"claimed": {
			steps["reserve"].(*types.AttributeValueMemberM).Value,
			map[string]string{
				"ProcessState": "S(Processing)",
				"LockedBy":     "S(scheduler-7)", "CompleteBy": "N(1795255240000)", "FailureCount": "N(1)",
			},
		},
		"pending": {
			steps["charge"].(*types.AttributeValueMemberM).Value,
			map[string]string{
				"ProcessState": "S(Pending)",
				"LockedBy":     "<nil>", "CompleteBy": "<nil>", "FailureCount": "<nil>",
			},
		},
	} {
		for name, want := range tt.want {
			if got := sketch(tt.members[name]); got != want {
				t.Errorf("%s: %s is %s, want %s", where, name, got, want)
			}
		}
	}
	r := record(a)
	want := recordOf(t, task)
	if got, err := state.DecodeTask(r.Document); err != nil || !reflect.DeepEqual(got, task) ||
		r.Version != 3 || r.Bucket != port.DueBucket ||
		!r.IndexAt.Equal(want.IndexAt) || !r.Created.Equal(want.Created) {
		t.Errorf("record is %+v", r)
	}
}

// A document that takes one of our names, or contradicts its record, is kept as it is.
func TestStrangeDocumentsAreKept(t *testing.T) {
	task := &protocol.Task{
		OrderID: "a", Version: 1, Workflow: "order", ProcessState: core.Processing,
		Created: 1_795_000_000_000,
	}
	for name, change := range map[string]func(*port.Record){
		"a name of ours": func(r *port.Record) {
			r.Document = bytes.Replace(r.Document, []byte(`"Steps"`), []byte(`"bucket":"due#0","Steps"`), 1)
		},
		"another version":   func(r *port.Record) { r.Version = 2 },
		"another state":     func(r *port.Record) { r.State = "Error" },
		"another creation":  func(r *port.Record) { r.Created = r.Created.Add(time.Second) },
		"no object":         func(r *port.Record) { r.Document = []byte(`[1]`) },
		"no text":           func(r *port.Record) { r.Document = []byte{0xff, 0} },
		"too large as such": func(r *port.Record) { r.Document = lists(r.Document) },
	} {
		r := recordOf(t, task)
		change(r)
		want := *r
		a, err := New(nil, Tables{}, Options{}).item(r, []byte("12345678"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := record(a)
		if a[documentAttribute] == nil {
			t.Fatalf("%s: kept as %+v", name, got)
		}
		for _, field := range []struct {
			name      string
			got, want any
		}{
			{"got.Document is want.Document", bytes.Equal(got.Document, want.Document), true},
			{"got.Version", got.Version, want.Version},
			{"got.State", got.State, want.State},
			{"got.Created.Equal(want.Created)", got.Created.Equal(want.Created), true},
		} {
			if field.got != field.want {
				t.Errorf("%s is %v, want %v: %s: kept as %+v", field.name, field.got, field.want, name, got)
			}
		}
	}
}

// lists puts a list into the document that takes more room as attributes than as text.
func lists(document []byte) []byte {
	big := `"future":[` + strings.Repeat("1,", 150_000) + `1],"Steps"`
	return bytes.Replace(document, []byte(`"Steps"`), []byte(big), 1)
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		document string
		want     int
	}{
		{`{"a":"xyz"}`, 1 + 3},
		{`{"ab":null}`, 2 + 1},
		{`{"a":1234}`, 1 + 3},
		{`{"a":40000}`, 1 + 2},
		{`{"a":0}`, 1 + 1},
		{`{"a":-7}`, 1 + 3},
		{`{"a":true}`, 1 + 1},
		{`{"a":["x","y"]}`, 1 + 3 + 2*(1+1)},
		{`{"a":{"k":"v"}}`, 1 + 3 + 1 + 1 + 1},
	} {
		a, err := attributesOf([]byte(tt.document))
		if err != nil {
			t.Fatal(err)
		}
		if got := Size(a); got != tt.want {
			t.Errorf("%s has size %d, want %d", tt.document, got, tt.want)
		}
	}
}

// texts draws JSON as programs write it, half of it with a fault: half of a surrogate pair, a key twice, or bytes
// that are not UTF-8.
func texts() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "<td>", `\u003c`, "\u2028", "😀", `\ud83d\ude00`, "я", `\u0001`, "\uffff",
		`\ufffe`, "\x7f", `\"`, `\\`, `\ud83d`, `\ude00`, "\xff", "\xed\xa0\xbd",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(part, 0, 3).Draw(t, "parts"), "") + `"`
	})
	return rapid.Custom(func(t *rapid.T) string {
		a := text.Draw(t, "a")
		b := text.Draw(t, "b")
		c := text.Draw(t, "c")
		return rapid.SampledFrom([]string{
			a, `{` + a + `:` + b + `}`, `{` + a + `:1, ` + b + `:[` + c + `]}`,
			`{"a":{` + a + `:` + b + `,"n":1.500}}`, `[1e400,` + a + `]`,
		}).Draw(t, "form")
	})
}

// What a door accepts can be stored and read in each form, and no store takes what a door refuses: an order
// that was stored and could not be read would stand for ever.
func TestEachStoreReadsWhatADoorAccepts(t *testing.T) {
	accepted := 0
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		given := []byte(texts().Draw(t, "value"))
		value := slices.Clone(given)
		fault := rawjson.Check(given, rawjson.MaxLevels)
		if fault == nil {
			accepted++
			value, _ = rawjson.Compact(given)
		} else if refused++; !errors.Is(fault, rawjson.ErrAmbiguous) {
			t.Fatalf("%q: %v", given, fault)
		}
		task := &protocol.Task{
			OrderID: "o", Workflow: "w", Created: 1, Order: value, Output: value,
			Steps: []protocol.Step{{Name: "a", Output: value, Children: &protocol.Children{
				Count:   1,
				Results: []protocol.Collected{{Output: value}},
			}, Answers: &protocol.Answers{
				Votes: []protocol.Vote{{By: "ann", Value: value}},
			}}},
		}
		document, err := state.EncodeTask(task)
		if (err == nil) != (fault == nil) {
			t.Fatalf("%q: the door says %v, the store %v", given, fault, err)
		}
		if err != nil {
			return
		}
		forms := [][]byte{document}
		if a, err := attributesOf(document); err == nil { // other documents are stored as they are
			b, err := appendObject(nil, a)
			if err != nil {
				t.Fatalf("%q: %v", given, err)
			}
			forms = append(forms, b)
		}
		for _, form := range forms {
			got, err := state.DecodeTask(form)
			if err != nil {
				t.Fatalf("%q: %v", given, err)
			}
			step := got.Steps[0]
			for _, v := range [][]byte{got.Order, got.Output, step.Output, step.Children.Results[0].Output, step.Answers.Votes[0].Value} {
				if string(v) != string(value) {
					t.Fatalf("%q is read as %q", given, v)
				}
			}
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d were accepted and %d refused", accepted, refused)
	}
}
