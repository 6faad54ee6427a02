package rawjson_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

var pieces = []string{
	"{", "}", "[", "]", ",", ":", `"`, `"a"`, `"b":`, `"\u00e9"`, `"\u00G9"`, `"\x"`, `"\"`, "\"\x1f\"", "\"\xff\"", "\x7f", " ", "\n", "\t", "\r", "\v", "0", "-", "01", "12",
	"1.5", "1.", ".5", "1e9", "1E+9", "1e-", "-0", "-0.0e0", "true", "false", "null", "nul", "truE", "tru", `{"a":1}`, `[1,2]`, `{"a":[{}]}`, "[]", "{}", "é", "\u2028", "\x00",
}

// readsAsJSON reads the text member by member, to so many levels, and reports whether it is JSON. For text
// that was checked the Reader need not say so of what is none.
func readsAsJSON(r rawjson.Reader, levels int) bool {
	var value func(levels int)
	value = func(levels int) {
		switch kind := r.Kind(); {
		case kind == '{' && levels > 0:
			for r.Enter(); r.Next(); {
				value(levels - 1)
			}
		case kind == '[' && levels > 0:
			for r.Enter(); r.Element(); {
				value(levels - 1)
			}
		default:
			r.Value()
		}
	}
	value(levels)
	return r.End()
}

func agree(t *testing.T, text []byte) {
	t.Helper()
	want := json.Valid(text)
	if got := rawjson.Valid(text); got != want {
		t.Fatalf("%.200q: valid is %v, and the standard library says %v", text, got, want)
	}
	for _, levels := range []int{0, 1, 100} {
		if got := readsAsJSON(rawjson.Read(text), levels); got != want {
			t.Fatalf("%.200q: read to %d levels it is JSON: %v, and the standard library says %v", text, levels, got, want)
		}
		if got := readsAsJSON(rawjson.ReadChecked(text), levels); want && !got {
			t.Fatalf("%.200q: read as checked text to %d levels it is refused", text, levels)
		}
	}
}

// TestValidJSON: the standard library is the oracle, for well-formed texts and for damaged ones.
func TestValidJSON(t *testing.T) {
	agree := func(text string) { t.Helper(); agree(t, []byte(text)) }
	for _, a := range append(pieces, "") {
		for _, b := range append(pieces, "") {
			for _, c := range append(pieces, "") {
				agree(a + b + c)
				agree("[" + a + "," + b + c + "]")
				agree(`{"k":` + a + b + `,"l":` + c + "}")
			}
		}
	}
	for _, n := range []int{9_998, 9_999, 10_000, 10_001, 10_002} {
		agree(strings.Repeat("[", n) + strings.Repeat("]", n))
		agree(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
		agree(strings.Repeat("[", n))
	}
	const doc = `{"OrderID":"o-1","a":[1.50,"text \"7\" <ü\n>",{"b":null,"c":[true,false]}],"Steps":{"x":{"n":-12e3,"\u00e9":""}, "y" : [ ] }}`
	agree(doc)
	r := rand.New(rand.NewPCG(1, 2))
	for range 5_000 { // one byte of a document is another one, or missing
		i := r.IntN(len(doc))
		agree(doc[:i] + pieces[r.IntN(len(pieces))] + doc[i+1:])
		agree(doc[:i] + doc[i+1:])
		agree(doc[:i])
	}
}

// FuzzValidJSON holds it against the standard library.
func FuzzValidJSON(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

// A text is written with as few escapes as JSON allows.
func TestAppendString(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a b ~": `"a b ~"`, "ü\u2028€": "\"ü\u2028€\"", `"\`: `"\"\\"`, "\n\x00\x1f\x7f": `"\u000a\u0000\u001f` + "\x7f" + `"`, "a\xffb": "\"a\ufffdb\"", "\xff": "\"\ufffd\"",
	} {
		if got := string(rawjson.AppendString(nil, text)); got != want {
			t.Errorf("%q is written as %s, want %s", text, got, want)
		}
	}
}
