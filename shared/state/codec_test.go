package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

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
	require.NoError(t, err)
	require.True(t, json.Valid(b), "not JSON: %s", b)
	return b
}

// A field that is added to the task and not to the codec is found here.
func TestEveryFieldOfATaskIsStored(t *testing.T) {
	empty := &protocol.Task{Steps: []protocol.Step{}}
	for name, task := range map[string]*protocol.Task{"full": fullTask(t), "usual": usualTask(), "empty": empty} {
		got, err := state.DecodeTask(encode(t, task))
		require.NoError(t, err, name)
		require.Equal(t, task, got, name)
	}
}

// Every later program of schema 2 reads the recorded documents, and writes them as they are.
func TestRecordedDocumentsAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/schema2/*.json")
	require.NoError(t, err)
	require.Len(t, files, 12)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			doc, err := os.ReadFile(file)
			require.NoError(t, err)
			task, err := state.DecodeTask(doc)
			require.NoError(t, err)
			require.JSONEq(t, string(doc), string(encode(t, task)))
			delete(task.Unknown, "startCause") // later programs do not write these two, and keep them
			delete(task.Unknown, "endCause")
			if filepath.Base(file) != "full.json" { // a renamed member would be an unknown one
				require.Empty(t, task.Unknown)
			}
		})
	}
}

func TestUnreadableDocuments(t *testing.T) {
	for doc, part := range map[string]string{
		``: "not JSON", `[]`: "the document cannot be", "{\"OrderID\":\"\xff\"}": "UTF-8",
		`{"OrderID":"a","OrderID":"b"}`: "not JSON", `{}`: "no schema",
		`{"Schema":2,"Steps":[{"attempt":"x"}]}`: "/Steps/0/attempt cannot be a JSON string",
		`{"Schema":2,"Steps":{}}`:                "/Steps cannot be a JSON {",
		`{"Schema":2,"Version":1.5}`:             "/Version",
		`{"Schema":2,"attention":1}`:             "/attention cannot be a JSON number",
		`{"Schema":"2"}`:                         "/Schema cannot be a JSON string",
		`{"Created":"yesterday"}`:                "RFC 3339",
		`{"due":7}`:                              "RFC 3339",
		`{"due":"1969-01-01T00:00:00Z"}`:         "/due: a time is outside of the years",
		`{"Steps":[{"answers":{"verdicts":[{"at":"1969-01-01T00:00:00Z"}]}}]}`: "years",
	} {
		_, err := state.DecodeTask([]byte(doc))
		require.ErrorContains(t, err, part, doc)
	}
	for _, count := range []string{
		`"count":-1`, `"next":-1`, `"started":-1`, `"cursor":-1`, `"failed":-1`, `"rounds":-1`, `"open":[{"index":-1}]`,
		`"results":[{"index":-1,"output":1}]`,
	} {
		_, err := state.DecodeTask([]byte(`{"Schema":2,"Steps":[{"name":"a","children":{` + count + `}}]}`))
		require.ErrorContains(t, err, `step "a": a number of children is negative`, count)
	}
}

// A document of another schema is named as such, also if a member of it cannot be read (P8, nothing is changed).
func TestDocumentsOfAnotherSchema(t *testing.T) {
	for doc, want := range map[string]string{
		`{"Schema":4,"OrderID":"x","Steps":{"a":{"N":0}}}`: "newer",
		`{"Schema":4}`: "deploy the newer program",
		`{"Schema":1,"OrderID":"x","Steps":{"a":{"N":0}}}`: "was written by an older version",
		`{"Steps":{"a":{"N":0}},"Schema":1}`:               "no migration before the first release",
	} {
		_, err := state.DecodeTask([]byte(doc))
		require.ErrorIs(t, err, state.ErrSchema, doc)
		require.ErrorContains(t, err, want, doc)
	}
}

func TestUnwritableTasks(t *testing.T) {
	for name, spoil := range map[string]func(*protocol.Task){
		"time":         func(x *protocol.Task) { x.Due = 1 << 60 },
		"time of part": func(x *protocol.Task) { x.Commands.Verdicts = []protocol.Verdict{{At: -1}} },
		"text":         func(x *protocol.Task) { x.ReplyTo = "\xff" },
	} {
		task := usualTask()
		spoil(task)
		_, err := state.EncodeTask(task)
		require.Error(t, err, name)
	}
}

// A document holds the values of people and services byte for byte, also after a document that failed.
func TestContentIsKeptByteForByte(t *testing.T) {
	task := usualTask()
	task.Order = json.RawMessage(`{"b":[1.50,-0,1e400],"a":"\u00e9 \ud83d\ude00 <&>"}`)
	task.Steps[0].Output = json.RawMessage(`null`)
	task.Steps[1].Output = json.RawMessage(`"null"`)
	task.Unknown = map[string]json.RawMessage{"new": json.RawMessage(`[null]`)}
	failed := usualTask()
	failed.Order = task.Order
	failed.Due = -1
	_, err := state.EncodeTask(failed)
	require.Error(t, err)
	got, err := state.DecodeTask(encode(t, task))
	require.NoError(t, err)
	require.Equal(t, task, got)
}

func FuzzDecodeTask(f *testing.F) {
	f.Add(encode(f, usualTask()))
	f.Add(encode(f, fullTask(f)))
	f.Add([]byte(`{"Schema":2,"Steps":[{"claimedAt":"","stopBy":null},{"attempt":-1}], "x":[{"y":"}\""}] }`))
	f.Add([]byte(`{"Schema":2,"Steps":[{"answers":null,"attempt":0}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := state.DecodeTask(data)
		if err != nil {
			return
		}
		once, err := state.EncodeTask(task)
		require.NoError(t, err, "read, but not written")
		again, err := state.DecodeTask(once)
		require.NoError(t, err)
		twice := encode(t, again)
		require.True(t, bytes.Equal(once, twice), "not stable:\n%s\n%s", once, twice)
	})
}
