package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/golden"
)

// docs/reference/document.md lists every member of a stored document, as the tables of this package have it,
// and shows a whole one.
func TestEveryMemberIsDocumented(t *testing.T) {
	const path = "../../docs/reference/document.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- members: begin -->\n", "<!-- members: end -->"
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the members", path)
	}
	var b strings.Builder
	rows(&b, "The order", taskFields)
	rows(&b, "Each step in `Steps`", stepFields)
	rows(&b, "A step's `error`", errorFields)
	rows(&b, "A step's `corrected`", correctedFields)
	rows(&b, "Each attempt in `attempts`", attemptFields)
	want := head + begin + b.String() + "\n" + end + tail
	want = withExample(t, want)
	if want == string(text) {
		return
	}
	if !golden.FlagUpdate() {
		t.Fatalf("%s does not show what is stored: go test ./shared/state -run %s -update", path, t.Name())
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withExample puts a recorded document into the text, whole.
func withExample(t *testing.T, text string) string {
	t.Helper()
	recorded, err := os.ReadFile("testdata/schema1/goes-well-end.txt")
	if err != nil {
		t.Fatal(err)
	}
	document, _, _ := bytes.Cut(recorded, []byte("\n\n"))
	var b bytes.Buffer
	if err := json.Indent(&b, document, "    ", "  "); err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- example: begin -->\n", "<!-- example: end -->"
	head, rest, found := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("there is no place for the example")
	}
	return head + begin + "\n    " + b.String() + "\n\n" + end + tail
}

func rows[T any](b *strings.Builder, title string, of *table[T]) {
	fmt.Fprintf(b, "\n## %s\n\n| member | says |\n|---|---|\n", title)
	for _, f := range of.fields {
		fmt.Fprintf(b, "| `%s` | %s |\n", f.name, f.says)
	}
}
