package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMeasure(t *testing.T) {
	for page, want := range map[string]counts{
		"":                                     {},
		"# A heading of five words":            {words: 5, sentences: 1},
		"One two three. Four five six?":        {words: 6, sentences: 2},
		"A label. And a sentence of six words": {words: 6, sentences: 1},
		"Call `f(a, b)` for it.\n\n    code is no prose\n":    {words: 4, sentences: 1},
		"- an item without a dot\n- another item without one": {words: 9, sentences: 2},
		"| a | b |\n|---|---|\n| three words here | 1 |":      {words: 3, sentences: 1},
		"It has " + strings.Repeat("many ", 30) + "words.":    {words: 33, sentences: 1, long: 1},
	} {
		if got := measure([]byte(page)); got != want {
			t.Errorf("%q: %+v, want %+v", page, got, want)
		}
	}
}

// TestRun checks that an error of Vale, a long page and a missed goal are reported.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.md", strings.Repeat("The Scheduler stores the order.\n\n", 50))
	long := write("long.md", strings.Repeat("The Scheduler stores the order.\n\n", 501))
	wordy := write("wordy.md", strings.Repeat("word ", 29)+".")
	for _, c := range []struct{ vale, page, problem string }{
		{`{}`, good, ""},
		{`{"` + good + `": [{"Line": 3, "Severity": "error", "Message": "no such word"}]}`, good,
			":3: no such word"},
		{`{"` + good + `": [` + strings.Repeat(`{"Check": "S.Passive"},`, 40) + `{"Check": "S.Passive"}]}`,
			good,
			"share of passive sentences"},
		{`{}`, long, "split it"},
		{`{}`, wordy, "words per sentence"},
	} {
		problems, err := run(strings.NewReader(c.vale), &strings.Builder{}, []string{c.page})
		if got := strings.Join(problems, "\n"); err != nil || c.problem == "" != (got == "") ||
			!strings.Contains(got, c.problem) {
			t.Errorf("%s: %q, %v, want %q", filepath.Base(c.page), got, err, c.problem)
		}
	}
	if _, err := run(strings.NewReader("vale: not found"), &strings.Builder{}, nil); err == nil {
		t.Error("output that is not JSON is accepted")
	}
}

// TestTexts checks what is taken from commands.yaml and from a template.
func TestTexts(t *testing.T) {
	flags, rest := described(
		map[string]any{"list": map[string]any{"use": "list ID", "long": "It lists orders.\n\n  code\n",
			"flags": map[string]any{
				"Run": map[string]any{
					"wait": "wait for the end",
					"seed": map[string]any{"text": "first seed"},
				},
			}}},
	)
	if !slices.Equal(flags, []string{"first seed", "wait for the end"}) || len(rest) != 1 ||
		strings.Contains(rest[0], "code") {
		t.Errorf("flags %q, others %q", flags, rest)
	}
	got := nodes(`{{define "a"}}<p title="no text">Orders of <a href="{{.X}}">{{.Name}}</a> appear here.</p>` +
		`<script>let no = 1</script>{{end}}`)
	if !slices.Equal(got, []string{"Orders of value appear here."}) {
		t.Errorf("%q", got)
	}
}
