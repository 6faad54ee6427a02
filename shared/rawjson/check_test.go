package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// The error of a refused value names the member with the fault, the position and the kind.
func TestCheck(t *testing.T) {
	digits := strings.Repeat("7", rawjson.MaxNumber-1)
	const empty, follows = "it is not JSON: it is empty", "something follows the value"
	const deep, number = "arrays and objects are nested deeper than 2 levels at byte ", "a number is out of bounds"
	const half, twice = "half of a surrogate pair at byte ", "the key stands twice; keep one"
	for _, text := range []string{
		`[[1],[2]]`, ` {"a":[1]}` + "\n", `["[[[","\"[[[\\"]`, `-` + digits, `["` + digits + `777"]`,
		`[1e-999,1E+000999,1e0]`, `{"a":"\ud83d\ude00é"}`, `{"` + digits + `77":-0}`, `[` + digits + `7]`,
		`[{"a":1},{"a":2}]`, "[\"\ufffd\uffff\"]",
	} {
		require.NoError(t, rawjson.Check([]byte(text), 2), text)
	}
	for _, c := range []struct {
		text, want string
		kind       error
	}{
		{``, empty, nil},
		{`[[[`, "0: " + deep + "2;", rawjson.ErrLevels},
		{`[{"a":[1]}]`, "0: " + deep + "6;", rawjson.ErrLevels},
		{`[-` + digits + `7]`, "0: " + number + ": the one at byte 1 has", rawjson.ErrNumber},
		{`{"a":{"b":0.` + digits, "a.b: " + number + ": the one at byte 10 has", rawjson.ErrNumber},
		{`[1, 1e1000]`, "1: " + number + ": the one at byte 4 has", rawjson.ErrNumber},
		{`-1E-1000`, number + ": the one at byte 0 has", rawjson.ErrNumber},
		{`1.0000000e1234`, number + ": the one at byte 0 has", rawjson.ErrNumber},
		{`]`, "it is not JSON at byte 0: ", nil},
		{`{"a":1`, "it is not JSON at byte 6: it ends in the middle", nil},
		{`[1 2]`, "it is not JSON at byte 3: ", nil},
		{`1 2`, "it is not JSON at byte 1: " + follows, nil},
		{`[1]]`, "it is not JSON at byte 3: " + follows, nil},
		{`01`, "it is not JSON at byte 1: " + follows, nil},
		{"[\"\ufffd\xff\"]", "0: byte 5 is not UTF-8; send UTF-8", rawjson.ErrAmbiguous},
		{"{\"a\xff\":1}", "byte 3 is not UTF-8; send UTF-8", rawjson.ErrAmbiguous},
		{"\xff", "it is not JSON at byte 0: ", nil},
		{`[{"a":"\ud83d\u00"}`, "0.a: " + half + "7; send whole characters", rawjson.ErrAmbiguous},
		{`{"a":{"\ud83d":1}}`, "a: " + half + "7; send whole characters", rawjson.ErrAmbiguous},
		{`["\ude00x"]`, "0: " + half + "2; send whole characters", rawjson.ErrAmbiguous},
		{`{"a":1,"\u0061":2}`, "a: " + twice, rawjson.ErrAmbiguous},
		{`{"o":{"a\n":1,"a\u000a":2}}`, "o.a\ufffd: " + twice, rawjson.ErrAmbiguous},
	} {
		err := rawjson.Check([]byte(c.text), 2)
		require.ErrorContains(t, err, c.want, c.text)
		require.True(t, strings.HasPrefix(err.Error(), c.want), "%s: %v, want %s", c.text, err, c.want)
		for _, kind := range []error{rawjson.ErrNumber, rawjson.ErrLevels, rawjson.ErrAmbiguous} {
			require.Equal(t, errors.Is(c.kind, kind), errors.Is(err, kind), "%s: %v", c.text, err)
		}
		require.True(t, strings.HasPrefix(rawjson.In("output", err).Error(), "output"), c.text)
	}
	require.EqualError(t, rawjson.In("output", rawjson.Check([]byte(`{"n":"\ud83d"}`), 2)),
		"output.n: half of a surrogate pair at byte 6; send whole characters")
}

// The shortest form is the one that every limit in bytes is about. It has the members, their sequence and the
// digits of the value.
func TestShortestForm(t *testing.T) {
	const text = "<td>&amp;</td> \u2028\u2029 яя 😀 \x7f \ufdd0 \u00a0 /"
	const want = `{"b":"` + text + ` \u0001\b\f\n\r\t\"\\ \ufffe\uffff","a":[1.500,-0,12345678901234567890]}`
	ascii := ` {"b" : "`
	for _, c := range text {
		for _, unit := range utf16.AppendRune(nil, c) {
			ascii += fmt.Sprintf("\\u%04X", unit)
		}
	}
	ascii += ` \u0001\u0008\u000c\u000a\u000d\u0009\u0022\u005c \uFFFE\uFFFF", "a":[ 1.500,-0,12345678901234567890]}`
	got, err := rawjson.Compact([]byte(ascii))
	require.NoError(t, err)
	require.Equal(t, want, string(got))
	again, err := rawjson.Compact(got)
	require.NoError(t, err)
	require.Equal(t, want, string(again))

	type given struct {
		Value  json.RawMessage `json:"value"`
		Absent json.RawMessage `json:"absent,omitempty"`
		Text   string          `json:"text"`
		Bytes  []byte          `json:"bytes,omitempty"`
		Null   map[string]int  `json:"null"`
	}
	made, err := rawjson.Marshal(given{Value: []byte(ascii), Text: "<я\u2028\uffff", Bytes: []byte("hi")})
	require.NoError(t, err)
	numbers, err := rawjson.Marshal([]any{json.Number("1.50"), map[string]any{"a": json.Number("")}, 1.5})
	require.NoError(t, err)
	require.Equal(t, `[1.50,{"a":0},1.5]`, string(numbers))
	require.Equal(t, `{"value":`+want+`,"text":"<я`+"\u2028"+`\uffff","bytes":"aGk=","null":null}`, string(made))
}

// What Check refuses is never written, and the error names the member.
func TestMarshalRefuses(t *testing.T) {
	type given struct {
		Output json.RawMessage `json:"output,omitempty"`
	}
	for want, v := range map[string]any{
		"b.c.0: byte ":                                         map[string]any{"b": map[string]any{"c": []string{"x\xff"}}},
		"output.q.0: half of a surrogate pair":                 given{[]byte(`{"q":["\ud83d"]}`)},
		"b.1.q: half of a surrogate pair":                      map[string]any{"b": []any{1, json.RawMessage(`{"q":"\ud83d"}`)}},
		"a: the key stands twice":                              json.RawMessage(`{"a":1,"a":2}`),
		"byte 1 is not UTF-8":                                  map[string]any{"a\xff": 1},
		"it is not JSON":                                       json.RawMessage(`x`),
		"a value of the type func() cannot be written as JSON": func() {},
		"a.0: a value of the type chan int cannot":             map[string]any{"a": []any{make(chan int)}},
		"it says so":                                           refusing{},
	} {
		b, err := rawjson.Marshal(v)
		require.Error(t, err, "%s: %s", want, b)
		t.Log(err)
		require.True(t, strings.HasPrefix(err.Error(), want), "%v, want %s", err, want)
	}
	for _, text := range []string{``, `{`, `[1]x`, `{"a":1,"a":1}`, `"\ud83d"`, "\"\xff\""} {
		_, err := rawjson.Compact([]byte(text))
		require.Error(t, err, text)
	}
}

type refusing struct{}

func (refusing) MarshalJSON() ([]byte, error) { return nil, errors.New("it says so") }

// Without removes the first of two values, and nothing of a text that is not JSON.
func TestWithout(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1, "n" : {"x":"\ud83d"} , "b":[]}`: `{"a":1, "n" : null , "b":[]}`,
		`{"n":1,"n":2}`:                          `{"n":null,"n":2}`,
		"{\"\\u006e\":\"\xff\"}":                 `{"\u006e":null}`,
		`{"a":1}`:                                "", `[1]`: "", `{"n":`: "", ``: "",
	} {
		require.Equal(t, want, string(rawjson.Without([]byte(text), "n")), text)
	}
}

// An error of a place far inside stays short, because it may travel in a message.
func TestPlacesAreShort(t *testing.T) {
	key := `{"` + strings.Repeat("ü", 5000) + `":`
	err := rawjson.Check([]byte(strings.Repeat(key, 60)+`{"a":1,"a":2}`), 64)
	require.Error(t, err)
	require.LessOrEqual(t, len(err.Error()), 400)
	require.True(t, utf8.ValidString(err.Error()), "%v", err)
	require.True(t, strings.HasPrefix(err.Error(), "üüü"), "%v", err)
	require.ErrorContains(t, err, "……: the key stands twice")
}

// Two texts have one canonical form only if they are the same value, and no digit of a number is lost.
func TestCanonicalForm(t *testing.T) {
	for want, texts := range map[string][]string{
		`{"a":[1,0.5],"b":{"c":"é\n","d":null}}`: {
			` { "b":{"d":null,"\u0063":"\u00e9\u000a"} , "a":[1.0,5e-1] } `,
		},
		`[0,0,0]`:                       {`[-0,0.0,0e5]`},
		`[1e+21,100000000000000000000]`: {`[1E21,1e20]`, `[1000000000000000000000,1.0e+20]`},
		`[9007199254740993e0]`:          {`[9007199254740993]`, `[900719925474099.30e1]`},
		`[-1e400,5e-999]`:               {`[-10e399,0.5e-998]`},
		`["9007199254740993e0"]`:        {`["9007199254740993e0"]`},
	} {
		for _, text := range append(texts, want) {
			got, err := rawjson.AppendCanonical([]byte("x"), []byte(text))
			require.NoError(t, err, text)
			require.Equal(t, "x"+want, string(got), text)
		}
	}
	for _, text := range []string{``, `{`, `[1]x`, `{"a":1,"a":1}`, `"\ud83d"`, "\"\xff\""} {
		got, err := rawjson.AppendCanonical([]byte("x"), []byte(text))
		require.Error(t, err, text)
		require.Equal(t, "x", string(got), text)
	}
}

// Values are returned with the bytes of the text.
func TestLookups(t *testing.T) {
	object := []byte(` { "a" : [1, 2], "b\u0063":{"a":3}, "d":"\ud83d", "a":" [1] " , "\u0065" :null}`)
	for name, want := range map[string]string{
		"a": `" [1] "`, "bc": `{"a":3}`, "d": `"\ud83d"`, "e": "null", "f": "", "": "",
	} {
		got, err := rawjson.Member(object, name)
		require.NoError(t, err, name)
		require.Equal(t, want, string(got), name)
		require.Equal(t, want == "", got == nil, name)
	}
	got, err := rawjson.Members(object)
	require.NoError(t, err)
	require.Len(t, got, 4)
	require.Equal(t, `" [1] "`, string(got["a"]))
	require.Equal(t, `{"a":3}`, string(got["bc"]))
	var elements []string
	for e, err := range rawjson.Elements([]byte(` [ 1 ,{"a":[]}, "," ]`)) {
		elements = append(elements, string(e))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"1", `{"a":[]}`, `","`}, elements)
	for _, damaged := range []string{
		``, `{"a":1,`, `{"a"}`, `{"a":1]`, `{"a":x}`, `[1,`, `[1,]`, `[1}`, `[1 2]`,
	} {
		_, err := rawjson.Member([]byte(damaged), "b")
		require.Error(t, err, damaged)
		var last error
		for _, last = range rawjson.Elements([]byte(damaged)) {
		}
		if last == nil && (damaged == "" || damaged[0] == '[') {
			t.Errorf("%s is a list", damaged)
		}
	}
}

// A value is nested as deeply as Check counts it, whatever its texts hold.
func TestLevels(t *testing.T) {
	for value, want := range map[string]int{
		`1`: 0, `"[["`: 0, `[]`: 1, `{"a\"[":["\\",{"]":[]}],"b":[]}`: 4, `[[],[[]]]`: 3,
	} {
		require.Equal(t, want, rawjson.Levels([]byte(value)), value)
		require.NoError(t, rawjson.Check([]byte(value), want), value)
		if want > 0 {
			require.ErrorIs(t, rawjson.Check([]byte(value), want-1), rawjson.ErrLevels, value)
		}
	}
}

// Every value that Check accepts is JSON and has a canonical form, which is its own canonical form.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		`{"a":[1.50,-0,1e400],"b":{"c":"\ud83d\ude00"}}`, `[9007199254740993,"\u0000",{}]`, "\"\xff\"",
		`{"a":1,"a":2}`, `[1]]`, `{"a":[1,{},[]],"b":{"c":[2],"d":null},"e":true}`, `{"a" :1}`, ` [1, 2]`,
		"\"\uFFFF\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := rawjson.Check(text, rawjson.MaxLevels)
		if err != nil && len(err.Error()) > 600 || err == nil && !json.Valid(text) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		short, err := rawjson.Compact(text)
		require.NoError(t, err)
		got, err := rawjson.Shortest(text, rawjson.MaxLevels)
		require.NoError(t, err)
		require.Equal(t, string(short), string(got))
		if rawjson.Check(short, rawjson.MaxLevels) != nil ||
			len(bytes.TrimSpace(text)) > rawjson.MaxGrowth*len(short) && len(bytes.Fields(text)) == 1 {
			t.Fatalf("%q becomes %q", text, short)
		}
		form, err := rawjson.AppendCanonical(nil, text)
		require.NoError(t, err)
		again, err := rawjson.AppendCanonical(nil, form)
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
	})
}
