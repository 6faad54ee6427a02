package rawjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

// Values within the bounds pass; the first bracket or number beyond them is refused with its place.
func TestBounds(t *testing.T) {
	digits := strings.Repeat("7", rawjson.MaxNumber-1)
	deep, number := "arrays and objects are nested deeper than 2 levels at byte %d;", "a number is out of bounds: the one at byte %d has"
	for text, want := range map[string]struct {
		what string
		at   int
	}{
		``:                            {},
		`[[1],[2]]`:                   {},
		`{"a":[1]}`:                   {},
		`[[[`:                         {deep, 2},
		`[{"a":[1]}]`:                 {deep, 6},
		`["[[[","\"[[[\\"]`:           {},
		`["[[[","\\",[[1]]]`:          {deep, 13},
		`]]]][[`:                      {}, // no JSON; its parser says so
		`["unclosed [[[[[[[[`:         {},
		`-` + digits:                  {},
		`[` + digits + `7]`:           {},
		`[-` + digits + `7]`:          {number, 1},
		`{"a":0.` + digits:            {number, 5},
		`["` + digits + `777"]`:       {},
		`{"` + digits + `777":1e999}`: {},
		`[1e-999,1E+000999,1e0]`:      {},
		`[1, 1e1000]`:                 {number, 4},
		`-1E-1000`:                    {number, 0},
		`[1e9999999]`:                 {number, 1},
		`1.0000000e1234`:              {number, 0},
	} {
		err := rawjson.CheckLevels([]byte(text), 2)
		if want.what == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf(want.what, want.at)) || errors.Is(err, rawjson.ErrNumber) != (want.what == number) {
			t.Errorf("%s: %v, want one at byte %d", text, err, want.at)
		}
	}
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
