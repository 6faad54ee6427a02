package message_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const good = `{"schema":1,"orderId":"o-1","workflow":"order","order":{"total":12.50},"priority":"high","replyTo":"shop","deadline":"2026-11-21T10:00:00.500+01:00"}`

// with replaces one field of a good submission; "" leaves it out.
func with(name, value string) string {
	var m map[string]json.RawMessage
	_ = json.Unmarshal([]byte(good), &m)
	parts := []string{}
	for _, f := range []string{"schema", "orderId", "workflow", "order", "priority", "replyTo", "deadline"} {
		v := string(m[f])
		if f == name {
			v = value
		}
		if v != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", f, v))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// A reply whose output or texts cannot be kept still ends its attempt, and names the member. It goes to
// quarantine only if it is unknown whose it is.
func TestRepliesThatCannotBeKept(t *testing.T) {
	const done = `"task":"o-1","run":0,"step":"a","attempt":2,"waited":0,"schema":1,"outcome":"done",`
	const do, undo, half = `"operation":"do",`, `"operation":"undo",`, `"\ud83d"`
	const failed = `"task":"o-1","run":0,"step":"a","attempt":2,"waited":0,"schema":1,"operation":"do","outcome":`
	long := `"` + strings.Repeat(`\u044f`, core.MaxOutput/2) + `"`
	for text, want := range map[string]string{
		done + do + `"output":{"n":` + half + `}`: "failed output: the operation was done, but its output " +
			"cannot be kept: output.n: half of a surrogate pair at byte 6; send whole characters",
		done + do + `"output":{` + half + `:1}`:            "failed output: *output: half of a surrogate pair",
		done + do + `"output":{"a":[{"b":1,"b":2}]}`:       "failed output: *output.a.0.b: the key stands twice",
		done + do + "\"output\":\"\xff\"":                  "failed output: *output: byte 1 is not UTF-8",
		done + do + `"output":[1e1000]`:                    "failed output: *output.0: a number is out of bounds",
		done + do + `"output":` + long:                     "failed output-too-large: *it has 49154 bytes",
		done + do + `"output":` + long[:len(long)-7] + `"`: "done",
		done + undo + `"output":` + half:                   "done",
		done + do + `"output":1,"note":` + half:            "done",
		failed + `"failed","output":` + half:               "failed",
		failed + `"retry-later","error":{"code":"not-yet","message":` + half + `}`: "retry-later not-yet: " +
			"error.message: half of a surrogate pair",
		failed + `"failed","error":{"code":` + half + `,"message":"x"}`: "failed unspecified: error.code: half",
		failed + `"progress","percent":3,"note":` + half:                "progress",
		done + do + `"output":1,"output":2`:                             "",
		done + do + `"attempt":3,"output":` + half:                      "",
		strings.Replace(done, "o-1", `\ud83d`, 1) + do + `"output":1`:   "",
		done + do + `"more":` + half:                                    "",
		done + do + `"output":` + half[:3]:                              "",
	} {
		r, err := message.Decode[message.Reply]([]byte("{" + strings.TrimSuffix(text, ",") + "}"))
		if want == "" {
			require.ErrorIs(t, err, message.ErrUnreadable, text)
			continue
		}
		require.NoError(t, err, text)
		got := string(r.Outcome)
		if r.Error != nil {
			got += " " + r.Error.Code + ": " + r.Error.Message
		}
		want = strings.Replace(want, "*", "the operation was done, but its output cannot be kept: ", 1)
		require.True(t, strings.HasPrefix(got, want), "%.200s: %s, want %s", text, got, want)
		require.Equal(t, "o-1/a/2", fmt.Sprintf("%s/%s/%d", r.OrderID, r.Step, r.Attempt))
		_, err = r.Encode()
		require.NoError(t, err)
	}
}

// The sender of a bad order is notified, if the order names its reply-to.
func TestRefusedSubmissionKeepsItsSender(t *testing.T) {
	o, err := message.DecodeSubmit([]byte(`{"schema":1,"priority":7,"orderId":"o-1","replyTo":"shop","x":1}`))
	id, replyTo := o.Known()
	require.Error(t, err)
	require.Equal(t, "o-1", id)
	require.Equal(t, "shop", replyTo)
	o, _ = message.DecodeSubmit([]byte(`{"schema":1,"orderId":"../o","replyTo":"a b"}`))
	id, replyTo = o.Known()
	require.Empty(t, id)
	require.Empty(t, replyTo)
}

func TestNewerSchemaIsGivenBack(t *testing.T) {
	_, err := message.DecodeSubmit([]byte(`{"schema":2,"orderId":"o-1","order":[],"new":1}`))
	require.ErrorIs(t, err, message.ErrNewer)
	require.NotErrorIs(t, err, message.ErrUnreadable)
	data := []byte(`{"schema":2,"task":{"id":7}}`) // of another type, even
	for name, err := range map[string]error{
		"request": second(message.Decode[message.Request](data)),
		"reply":   second(message.Decode[message.Reply](data)),
		"control": second(message.Decode[message.Control](data)),
		"control of a kind to come": second(
			message.Decode[message.Control]([]byte(`{"schema":2,"kind":"start-child","task":"o-1"}`))),
		"status":      second(message.Decode[message.Status]([]byte(`{"schema":2}`))),
		"quarantined": second(message.Decode[message.Quarantined]([]byte(`{"schema":2}`))),
	} {
		if !errors.Is(err, message.ErrNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Texts that are printed have no control characters: sender, reason and code.
func TestTextsAreOfOneLine(t *testing.T) {
	for _, bad := range []string{
		"\n", "\r", "\x1b[31m", "\x00", "\x7f", "\u0085", "\u009b", "\u2028",
		"\u2029", "\u202e", "\u2066", "\u200f",
	} {
		text, _ := json.Marshal("a" + bad + "b")
		for _, c := range []string{
			`{"schema":1,"kind":"cancel","task":"o-1","id":"c-1","by":%s}`,
			`{"schema":1,"kind":"close","task":"o-1","id":"c-1","by":"ann","reason":%s}`,
			`{"schema":1,"kind":"resubmit","task":"o-1","id":"c-1","reason":%s}`,
			`{"schema":1,"kind":"answer","task":"o-1","id":"a-1","step":"b","round":1,"by":"ann","value":1,"reason":%s}`,
			`{"schema":1,"kind":"answer","task":"o-1","id":"a-1","step":"b","round":1,"by":%s,"value":1}`,
		} {
			_, err := message.Decode[message.Control](fmt.Appendf(nil, c, text))
			require.ErrorIs(t, err, message.ErrUnreadable, c)
		}
		const reply = `{"schema":1,"task":"o-1","step":"a","attempt":1,"operation":"do","outcome":"failed","error":{"code":%s,"message":"no"}}`
		_, err := message.Decode[message.Reply](fmt.Appendf(nil, reply, text))
		require.ErrorIs(t, err, message.ErrUnreadable)
	}
}

func second[T any](_ T, err error) error { return err }

func hash(order string) string {
	return message.ContentHash(message.SubmitOrder{
		Schema: 1, OrderID: "x", Workflow: "order",
		Order: json.RawMessage(order),
	})
}

func TestContentHashIsOfTheContent(t *testing.T) {
	for _, same := range [][]string{
		{`{"a":1,"b":[1.0,2]}`, ` { "b" : [1, 2.00] , "a" : 1e0 }`, `{"\u0061":1,"b":[1,2]}`},
		{`0.1`, `1e-1`, `0.10`, `100e-3`},
		{`9007199254740993`, `9007199254740993.0`, `900719925474099.3e1`}, // no double holds it
		{`{"x":1e400,"y":9007199254740993}`, `{"y":9007199254740993,"x":10e399}`},
		{`0`, `-0`, `0e5`},
		{`"\u20ac"`, `"€"`},
	} {
		for _, other := range same[1:] {
			require.Equal(t, hash(other), hash(same[0]), other)
		}
	}
	all := []string{
		`1`, `"1"`, `[1]`, `{"a":1}`, `{"a":2}`, `9007199254740993`, `9007199254740992`,
		`9007199254740994`, `1e400`, `1e401`, `-1e400`,
		`1e999999999999`, `1e99999999999999999999`, `2e99999999999999999999`, `"\u00009007199254740993e0"`,
		`"\u0000\u00009007199254740993e0"`, `"9007199254740993e0"`,
		`"\\u0000"`, `"\u0000"`, `0.1000000000000000055511151231257827`, `0.1`, `null`, `true`, `"a\"b"`,
		`{}`, `[]`, `[[]]`, `""`,
	}
	seen := map[string]string{}
	for _, order := range all {
		_, ok := seen[hash(order)]
		require.False(t, ok, order)
		seen[hash(order)] = order
	}
	require.Len(t, hash(`1`), 32)
}

func TestContentHashIsOfTheHeaderToo(t *testing.T) {
	base := message.SubmitOrder{Schema: 1, OrderID: "x", Workflow: "order", Order: json.RawMessage(`1`)}
	same := base
	other := []message.SubmitOrder{base, base, base}
	same.OrderID = "y"
	same.Priority = "normal"
	same.Deadline = 5
	require.Equal(t, message.ContentHash(same), message.ContentHash(base))
	other[0].Workflow = "other"
	other[1].Priority = "high"
	other[2].ReplyTo = "shop"
	for _, o := range other {
		require.NotEqual(t, message.ContentHash(o), message.ContentHash(base), "%+v", o)
	}
}

// examples returns the texts of testdata/examples.txt, whose lines begin with the name of a schema.
func examples() map[string][][]byte {
	file, err := os.ReadFile("testdata/examples.txt")
	if err != nil {
		panic(err)
	}
	all := map[string][][]byte{}
	for line := range bytes.Lines(file) {
		name, text, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		all[string(name)] = append(all[string(name)], text)
	}
	return all
}

func decodeAs(name string, data []byte) (port.Value, error) {
	switch name {
	case "submit-order":
		o, err := message.DecodeSubmit(data)
		return &o, err
	case "request":
		return value(message.Decode[message.Request](data))
	case "reply":
		return value(message.Decode[message.Reply](data))
	case "control":
		return value(message.Decode[message.Control](data))
	case "status":
		return value(message.Decode[message.Status](data))
	}
	return value(message.Decode[message.Quarantined](data))
}

func value[T port.Value](v T, err error) (port.Value, error) { return v, err }

func TestEnvelopesKeepWhatTheyCarryAndTheirSchemas(t *testing.T) {
	schemas := compiled(t)
	all := examples()
	require.Len(t, all, len(schemas))
	for name, texts := range all {
		for _, text := range texts {
			v, err := decodeAs(name, text)
			require.NoError(t, err)
			again, err := v.Encode()
			require.NoError(t, err)
			require.Equal(t, string(text), string(again))
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			require.NoError(t, err)
			require.NoError(t, schemas[name].Validate(doc), "%s: %s", name, text)
		}
	}
}

// An input that an operator gives, and an output that one states, are read as strictly as a submission (P51).
func TestInputsAreReadStrictly(t *testing.T) {
	given := core.Command{Name: core.Resubmit, ID: "c-1", Step: "charge"}
	stated := core.Command{Name: core.Resolve, ID: "c-1", Step: "charge", Fact: core.Happened}
	text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for value, want := range map[string][2]string{
		`{"a":1,"a":2}`: {"twice", "twice"}, `{"a":`: {"not JSON", "not JSON"}, "\"\xff\"": {"UTF-8", "UTF-8"},
		`[1e1000]`: {"out of bounds", "out of bounds"}, "null": {"input is null", "output is null"},
		strings.Repeat("[", 65) + strings.Repeat("]", 65): {"deeper", "deeper"},
		text(core.MaxInput + 1):                           {"the limit is 32768", ""},
		text(core.MaxOutput + 1):                          {"the limit is 32768", "the limit is 49152"},
		text(core.MaxOutput):                              {"the limit is 32768", ""},
	} {
		given.Input = json.RawMessage(value)
		stated.Output = json.RawMessage(value)
		for i, c := range []core.Command{given, stated} {
			control := message.Control{OrderID: "o-1", Event: c}
			err := control.Check()
			if want[i] == "" {
				require.NoError(t, err, "%.20s", value)
				continue
			}
			require.ErrorIs(t, err, message.ErrUnreadable, "%.20s", value)
			require.ErrorContains(t, err, want[i], "%.20s", value)
		}
	}
}

// What is read, and why a message is refused. Unknown fields are refused only in a submission, so that old and new
// programs can run side by side.
func TestWhatIsRead(t *testing.T) {
	schemas := compiled(t)
	var out strings.Builder
	for line := range strings.Lines(string(golden.Get(t, "read.txt"))) {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		v, err := decodeAs(name, []byte(text))
		fmt.Fprintf(&out, "%s    %s\n", line, outcome(v, err))
		if err != nil {
			require.ErrorIs(t, err, message.ErrUnreadable)
			require.LessOrEqual(t, len(err.Error()), 400, "it says too much: %v", err)
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		if name == "submit-order" {
			require.NoError(t, schemas[name].Validate(doc), "the door takes it, and the schema refuses it: %s", text)
		}
	}
	golden.Assert(t, out.String(), "read.txt")
}

// outcome is the message that was read, or the reason why it was not.
func outcome(v port.Value, err error) string {
	if r, ok := errors.AsType[*core.Refusal](err); ok {
		return fmt.Sprintf("error: %s %s: %s", r.Code, r.Field, r.Text)
	}
	if err != nil {
		return "error: " + message.Reason(err)
	}
	text, _ := v.Encode()
	return string(text)
}

// What cannot stand in a line is refused too.
func TestBadEnvelopes(t *testing.T) {
	deep := strings.Repeat("[", 10_000)
	for data, want := range map[string]string{
		"": "not-json", with("order", "\"a\xff\""): "not-json", with("order", deep): "not-json",
		with("order", `"`+strings.Repeat("x", port.MaxOrder)+`"`): "too-large",
	} {
		_, err := message.DecodeSubmit([]byte(data))
		r, ok := errors.AsType[*core.Refusal](err)
		require.True(t, ok, "%.60s: %v", data, err)
		require.Equal(t, want, r.Code)
	}
	for n, fits := range map[int]bool{core.MaxMessage: true, core.MaxMessage + 1: false} {
		const answer = `{"schema":1,"kind":"answer","task":"o","id":"a","event":"e","by":"ann","value":1,"reason":%q}`
		_, err := message.Decode[message.Control](fmt.Appendf(nil, answer, strings.Repeat("x", n)))
		require.Equal(t, fits, err == nil, "%v", err)
	}
	for _, data := range []string{
		"", "null", "[]", "{", `{"schema":1}` + strings.Repeat("[", 10_000),
		strings.Repeat("[", 10_000), "\xff",
	} {
		for _, name := range []string{"request", "reply", "control", "status", "quarantined"} {
			_, err := decodeAs(name, []byte(data))
			require.ErrorIs(t, err, message.ErrUnreadable, name)
		}
	}
}

func TestValuesAreUsedAsTheyAre(t *testing.T) {
	body := examples()["reply"][0]
	reply, err := message.Decode[message.Reply](body)
	require.NoError(t, err)
	got, err := message.Of[message.Reply](port.Delivery{Message: port.Message{Value: reply}})
	if err != nil || got != reply {
		t.Errorf("%p %v, want %p", got, err, reply)
	}
	bad := *reply
	bad.Attempt = -1
	_, err = message.Of[message.Reply](port.Delivery{Message: port.Message{Value: &bad}})
	require.ErrorIs(t, err, message.ErrUnreadable, "a reply of no attempt")
	got, err = message.Of[message.Reply](port.Delivery{Message: port.Message{Body: body}})
	require.NoError(t, err)
	require.Equal(t, reply, got)
	control, err := decodeAs("control", examples()["control"][0])
	require.NoError(t, err)
	d := port.Delivery{Message: port.Message{Value: control}}
	_, err = message.Of[message.Reply](d)
	require.ErrorIs(t, err, message.ErrUnreadable, "a wake read as a reply")
}

func FuzzDecodeSubmit(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(with("order", `[1e400,"\u0000\ud83d\ude00",{"a":{}}]`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := message.DecodeSubmit(data)
		if err != nil {
			return
		}
		again, err := o.Encode()
		require.NoError(t, err)
		if len(again) > port.MaxOrder { // escapes can make it longer
			return
		}
		p, err := message.DecodeSubmit(again)
		require.NoError(t, err)
		require.Equal(t, message.ContentHash(p), message.ContentHash(o))
	})
}

func FuzzDecodeEnvelopes(f *testing.F) {
	for _, texts := range examples() {
		for _, text := range texts {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"request", "reply", "control", "status", "quarantined"} {
			v, err := decodeAs(name, data)
			if err != nil {
				if !errors.Is(err, message.ErrUnreadable) && !errors.Is(err, message.ErrNewer) {
					t.Fatalf("%s: %v", name, err)
				}
				continue
			}
			_, err = v.Encode()
			require.NoError(t, err, name)
		}
	})
}

// The hash of a stored order never changes. Otherwise a repeated order would count as another one.
func TestContentHashStays(t *testing.T) {
	for order, want := range map[string]string{
		`null`: "550c2e78224c36f6a5a3c57a8e83d841",
		`{"b":[1.50,-0,1e400,9007199254740993],"a":{"ü\n\"\\\u20ac":"\u0000x","\u0061":true}}`: "c36debb5e589a2b95db5c17dcb5e3717",
		` [ 0.1000000000000000055511151231257827 , "{\"no\":[member]}" , {} , [] , "\\" ] `:    "ed5ffd3ddb7caa1b57cbf062eb05efda",
		`{"items":[{"sku":"a","quantity":1,"unitPrice":5.10}],"payment":{"card":"4711"}}`:      "52f4a4892634d0b679f93180025e8cfc",
	} {
		require.Equal(t, want, hash(order), order)
	}
}

// The tenant of an order is the part of its ID before the first colon.
func TestTenant(t *testing.T) {
	for id, want := range map[string]string{"acme:1001": "acme", "acme:eu:1": "acme", "1001": "", ":1": ""} {
		require.Equal(t, want, message.Tenant(id), id)
	}
}
