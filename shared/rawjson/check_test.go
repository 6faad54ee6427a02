package rawjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// The error of a refused value names the place of the fault. Check is strict, and CheckLoose accepts the JSON
// of services.
func TestCheck(t *testing.T) {
	digits := strings.Repeat("7", rawjson.MaxNumber-1)
	const deep = "arrays and objects are nested deeper than 2 levels at byte %d;"
	const number = "a number is out of bounds: the one at byte %d has"
	type problem struct {
		text string // a format of the place
		at   int
	}
	const empty, broken = "it is not JSON: it is empty", "it is not JSON at byte %d: "
	const follows, encoding = broken + "something follows the value", "byte %d is not UTF-8"
	const half = "holds half of a surrogate pair at byte %d;"
	for text, want := range map[string]struct{ strict, loose problem }{
		``:                        {problem{empty, -1}, problem{empty, -1}},
		`[[1],[2]]`:               {},
		` {"a":[1]}` + "\n":       {},
		`["[[[","\"[[[\\"]`:       {},
		`-` + digits:              {},
		`["` + digits + `777"]`:   {},
		`[1e-999,1E+000999,1e0]`:  {},
		`{"a":"\ud83d\ude00é"}`:   {},
		`{"` + digits + `77":-0}`: {},

		`[[[`:                 {problem{deep, 2}, problem{deep, 2}},
		`[{"a":[1]}]`:         {problem{deep, 6}, problem{deep, 6}},
		`[` + digits + `7]`:   {},
		`[-` + digits + `7]`:  {problem{number, 1}, problem{number, 1}},
		`{"a":0.` + digits:    {problem{number, 5}, problem{number, 5}},
		`[1, 1e1000]`:         {problem{number, 4}, problem{number, 4}},
		`-1E-1000`:            {problem{number, 0}, problem{number, 0}},
		`1.0000000e1234`:      {problem{number, 0}, problem{number, 0}},
		`]`:                   {problem{broken, 0}, problem{broken, 0}},
		`{"a":1`:              {problem{broken, 6}, problem{broken, 6}},
		`[1 2]`:               {problem{broken, 3}, problem{broken, 3}},
		`1 2`:                 {problem{follows, 1}, problem{follows, 1}},
		`[1]]`:                {problem{follows, 3}, problem{follows, 3}},
		`01`:                  {problem{follows, 1}, problem{follows, 1}},
		"[\"\ufffd\xff\"]":    {problem{encoding, 5}, problem{encoding, 5}},
		"\xff":                {problem{encoding, 0}, problem{encoding, 0}},
		`[{"a":"\ud83d\u00"}`: {problem{"the text 0.a " + half, 7}, problem{broken, 13}},
		`["\ude00x"]`:         {problem{"the text 0 " + half, 2}, problem{}},
		`{"a":1,"\u0061":2}`:  {problem{"the key a stands twice", -1}, problem{}},
	} {
		for name, c := range map[string]struct {
			err  error
			want problem
		}{
			"strict": {rawjson.Check([]byte(text), 2), want.strict},
			"loose":  {rawjson.CheckLoose([]byte(text), 2), want.loose},
		} {
			shown := c.want.text
			if strings.Contains(shown, "%d") {
				shown = fmt.Sprintf(shown, c.want.at)
			}
			if (c.err == nil) != (shown == "") || c.err != nil && !strings.HasPrefix(c.err.Error(), shown) {
				t.Errorf("%s, %s: %v, want %s", text, name, c.err, shown)
			}
			if errors.Is(c.err, rawjson.ErrNumber) != (c.want.text == number) ||
				errors.Is(c.err, rawjson.ErrLevels) != (c.want.text == deep) {
				t.Errorf("%s, %s: %v does not wrap its kind", text, name, c.err)
			}
		}
	}
}

// An error of a place far inside stays short, because it may travel in a message.
func TestPlacesAreShort(t *testing.T) {
	key := `{"` + strings.Repeat("ü", 5000) + `":`
	err := rawjson.Check([]byte(strings.Repeat(key, 60)+`{"a":1,"a":2}`), 64)
	if err == nil || len(err.Error()) > 400 || !utf8.ValidString(err.Error()) ||
		!strings.HasPrefix(err.Error(), "the key üüü") ||
		!strings.Contains(err.Error(), "…… stands twice") {
		t.Errorf("%v", err)
	}
}

// Two texts have one canonical form only if they are the same value, and no digit of a number is lost.
func TestCanonicalForm(t *testing.T) {
	for want, texts := range map[string][]string{
		`{"a":[1,0.5],"b":{"c":"é\n","d":null}}`: {
			` { "b":{"d":null,"\u0063":"\u00e9\u000a"} , "a":[1.0,5e-1] } `},
		`[0,0,0]`:                       {`[-0,0.0,0e5]`},
		`[1e+21,100000000000000000000]`: {`[1E21,1e20]`, `[1000000000000000000000,1.0e+20]`},
		`[9007199254740993e0]`:          {`[9007199254740993]`, `[900719925474099.30e1]`},
		`[-1e400,5e-999]`:               {`[-10e399,0.5e-998]`},
		`["9007199254740993e0"]`:        {`["9007199254740993e0"]`},
	} {
		for _, text := range append(texts, want) {
			got, err := rawjson.AppendCanonical([]byte("x"), []byte(text))
			if err != nil || string(got) != "x"+want {
				t.Errorf("%s becomes %s, %v; want %s", text, got, err, want)
			}
		}
	}
	for _, text := range []string{``, `{`, `[1]x`, `{"a":1,"a":1}`, `"\ud83d"`, "\"\xff\""} {
		if got, err := rawjson.AppendCanonical([]byte("x"), []byte(text)); err == nil || string(got) != "x" {
			t.Errorf("%s becomes %s, %v", text, got, err)
		}
	}
}

// Values are returned with the bytes of the text.
func TestLookups(t *testing.T) {
	object := []byte(` { "a" : [1, 2], "b\u0063":{"a":3}, "d":"\ud83d", "a":" [1] " , "\u0065" :null}`)
	for name, want := range map[string]string{
		"a": `" [1] "`, "bc": `{"a":3}`, "d": `"\ud83d"`, "e": "null", "f": "", "": "",
	} {
		got, err := rawjson.Member(object, name)
		if err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
	got, err := rawjson.Members(object)
	if err != nil || len(got) != 4 || string(got["a"]) != `" [1] "` || string(got["bc"]) != `{"a":3}` {
		t.Errorf("%s, %v", got, err)
	}
	var elements []string
	for e, err := range rawjson.Elements([]byte(` [ 1 ,{"a":[]}, "," ]`)) {
		if elements = append(elements, string(e)); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"1", `{"a":[]}`, `","`}; !slices.Equal(elements, want) {
		t.Errorf("%q, want %q", elements, want)
	}
	for _, damaged := range []string{
		``, `{"a":1,`, `{"a"}`, `{"a":1]`, `{"a":x}`, `[1,`, `[1,]`, `[1}`, `[1 2]`,
	} {
		if v, err := rawjson.Member([]byte(damaged), "b"); err == nil {
			t.Errorf("%s has a member %s", damaged, v)
		}
		var last error
		for _, last = range rawjson.Elements([]byte(damaged)) {
		}
		if last == nil && (damaged == "" || damaged[0] == '[') {
			t.Errorf("%s is a list", damaged)
		}
	}
}

// Every value that Check accepts is JSON and has a canonical form, which is its own canonical form.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		`{"a":[1.50,-0,1e400],"b":{"c":"\ud83d\ude00"}}`, `[9007199254740993,"\u0000",{}]`, "\"\xff\"",
		`{"a":1,"a":2}`, `[1]]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := rawjson.Check(text, rawjson.MaxLevels)
		loose := rawjson.CheckLoose(text, rawjson.MaxLevels)
		if err == nil && loose != nil || err != nil && len(err.Error()) > 600 {
			t.Fatalf("%q: %v, %v", text, err, loose)
		}
		if loose == nil && !json.Valid(text) {
			t.Fatalf("%q is not JSON", text)
		}
		if err != nil {
			return
		}
		form, err := rawjson.AppendCanonical(nil, text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if again, err := rawjson.AppendCanonical(nil, form); err != nil || string(again) != string(form) {
			t.Fatalf("%q becomes %q, then %q, %v", text, form, again, err)
		}
	})
}
